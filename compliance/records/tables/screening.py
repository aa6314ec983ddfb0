"""What is laid over readings: spans that screening flagged, corrections, determinations."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
)

from compliance.records.tables.common import at, metadata, pk, ref

flagged_span = Table(
    "flagged_span",
    metadata,
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    Column("since", DateTime(timezone=True), primary_key=True),  # its first reading
    at("until"),  # its last reading
    Column("flag", SmallInteger, nullable=False),
    Column("reason", SmallInteger, nullable=False),  # bits of ``Reason``
    Column("readings", Integer, nullable=False),
    Column("ruleset", Text, nullable=False),
)
correction = Table(
    "correction",
    metadata,
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    Column("read_at", DateTime(timezone=True), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("value", Double),
    Column("quality", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    at("at", now=True),
    CheckConstraint("value <> 'NaN'::float8", name="no_nan"),
)
determination = Table(
    "determination",
    metadata,
    pk(),
    ref("channel"),
    at("since"),
    at("until"),
    Column("verdict", Text, nullable=False),  # valid, invalid, estimated
    Column("reason", Text, nullable=False),
    Column("evidence_name", Text),
    Column("evidence_sha256", Text),
    Column("evidence", LargeBinary),
    ref("person"),
    at("at", now=True),
)
