"""Readings, the batches they came in, what waits to be judged, and days of discharge."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from compliance.records.tables.common import at, metadata, pk

reading = Table(
    "reading",
    metadata,
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    Column("read_at", DateTime(timezone=True), primary_key=True),
    Column("value", Double),
    Column("quality", SmallInteger, nullable=False),
    Column("words", BigInteger),  # up to four registers, first in the high bits
    Column("offset_ms", Integer, nullable=False),
    Column("device_offset_ms", Integer),
    Column("batch_id", BigInteger, nullable=False),
    CheckConstraint("value <> 'NaN'::float8", name="no_nan"),
    Index("ix_reading_flagged", "channel_id", "read_at", postgresql_where=text("quality <> 0")),
    info={"hypertable": "read_at"},
)
batch = Table(
    "batch",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("readings", Integer, nullable=False),
    at("received_at", now=True),
    UniqueConstraint("worker", "sequence"),
)
dirty = Table(
    "dirty",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("batch_id", BigInteger),  # empty: every reading of the channels in the span counts
    Column("channels", ARRAY(Integer), nullable=False),
    at("since"),
    at("until"),
    Column("why", Text, nullable=False),
)
quarantine = Table(
    "quarantine",
    metadata,
    pk(),
    Column("worker", Text, nullable=False),
    Column("sequence", BigInteger),
    Column("reason", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    at("at", now=True),
)
gap = Table(
    "gap",
    metadata,
    pk(),
    Column("channels", ARRAY(Integer), nullable=False),
    at("since"),
    at("until"),
    Column("cause", Text, nullable=False),
    Column("worker", Text, nullable=False),  # who noted it
    at("noted_at", now=True),
    Index("ix_gap_channels", "channels", postgresql_using="gin"),
    Index("ix_gap_until", "until"),
)
day_fact = Table(
    "day_fact",
    metadata,
    Column("monitoring_point_id", ForeignKey("monitoring_point.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("flow_gal", Numeric),  # NULL: no record of that day
    Column("sanitary_gal", Numeric),
    Column("source", Text, nullable=False),
)
