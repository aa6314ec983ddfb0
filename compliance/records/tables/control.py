"""Permits, orders, agreements and the program's own values, by version; approvals."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

control = Table(
    "control",
    metadata,
    pk(),
    ref("city"),
    ref("industrial_user"),
    Column("kind", Text, nullable=False),  # permit, order, agreement, screening, notification
    Column("key", Text, nullable=False),  # its number as rule ids spell it
    Column("version", Integer, nullable=False),
    Column("effective", Date, nullable=False),
    Column("ended", Date),
    Column("content", JSONB, nullable=False),
    Column("sha256", Text, nullable=False),  # of the content
    Column("file", LargeBinary),  # the paper itself, where it was sent along
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    UniqueConstraint("city_id", "kind", "key", "version"),
    CheckConstraint("ended > effective", name="ends_after_it_began"),
)
approval = Table(
    "approval",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("rule_id", Text, nullable=False),
    Column("at_least", Text),
    Column("at_most", Text),
    Column("unit", Text),
    Column("since", Date, nullable=False),
    Column("until", Date, nullable=False),
    Column("author", Text, nullable=False),
    Column("office", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("document_name", Text),
    Column("document_sha256", Text),
    Column("file", LargeBinary),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    Column("withdrawn_on", Date),  # a withdrawn approval stays on record
    Column("withdrawn_by", Text),
    Column("withdrawn_why", Text),
    CheckConstraint("until > since", name="ends_after_it_began"),
)
