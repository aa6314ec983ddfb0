"""What people changed: a table that only grows, each row hashed with the one before."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import metadata

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),  # without holes
    Column("at", DateTime(timezone=True), nullable=False, index=True),
    Column("by", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSONB, nullable=False),
    Column("previous", Text, nullable=False, unique=True),  # unique: the chain cannot fork
    Column("sha256", Text, nullable=False),
)
