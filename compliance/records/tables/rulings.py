"""What each city's readings were judged by, and since when."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

ruling = Table(
    "ruling",
    metadata,
    pk(),
    ref("city"),
    Column("rule_id", Text, nullable=False),
    Column("content", JSONB),  # null: from then on the city's books had no such rule
    Column("marked", Integer, nullable=False),  # channels whose readings were to be judged anew
    Column("release", Text, nullable=False),
    at("noted_at"),
    Index("ix_ruling_city_id_rule_id", "city_id", "rule_id"),
)
