"""How long a city keeps readings, what holds them longer, and what was destroyed."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

records_schedule = Table(
    "records_schedule",
    metadata,
    pk(),
    ref("city"),  # of a city's schedules the newest row is in force
    Column("adopted_on", Date, nullable=False),
    Column("adopted_by", Text, nullable=False),
    Column("lines", JSONB, nullable=False),  # [{line, years, citation, parameters}]
    Column("file", Text, nullable=False),
    Column("sha256", Text, nullable=False),  # of the file
    Column("loaded_by", Text, nullable=False),
    at("loaded_at", now=True),
)
hold = Table(
    "hold",
    metadata,
    pk(),
    ref("city"),
    ref("industrial_user", nullable=True),  # of these three one at most: else the whole city
    ref("monitoring_point", nullable=True),
    ref("channel", nullable=True),
    at("since", nullable=True),  # empty: from the first reading on
    at("until", nullable=True),  # empty: whatever is read from now on, too
    Column("reason", Text, nullable=False),
    Column("placed_by", Text, nullable=False),
    at("placed_at", now=True),
    Column("lifted_by", Text),  # a lifted hold stays on record
    at("lifted_at", nullable=True),
    Column("lifted_why", Text),
    CheckConstraint("until > since", name="ends_after_it_began"),
    CheckConstraint(
        "num_nonnulls(industrial_user_id, monitoring_point_id, channel_id) <= 1", name="one_scope"
    ),
)
destruction = Table(
    "destruction",
    metadata,
    pk(),
    Column("channel_id", ForeignKey("channel.id"), nullable=False),
    at("closed_from"),  # the civil month at the plant: nothing in it is stored or judged any more
    at("closed_until"),
    at("since"),  # the readings that were removed
    at("until"),
    Column("rows", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    ref("records_schedule"),
    Column("line", Text, nullable=False),
    Column("years", Integer, nullable=False),
    Column("citation", Text, nullable=False),
    Column("by", Text, nullable=False),
    at("at", now=True),
    UniqueConstraint("channel_id", "closed_from"),
    Index("ix_destruction_closed_until", "closed_until"),
)
