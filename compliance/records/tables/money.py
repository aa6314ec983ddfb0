"""Metered water, bills and their lines."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import DATERANGE, JSONB, ExcludeConstraint

from compliance.records.tables.common import at, metadata, pk, ref

water_use = Table(
    "water_use",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("period_from", Date, nullable=False),
    Column("period_to", Date, nullable=False),
    Column("gallons", Numeric, nullable=False),
    Column("reads", JSONB, nullable=False),  # {from: {on, read}, to: {on, read}}
    Column("estimated", Boolean, nullable=False),
    UniqueConstraint("industrial_user_id", "period_from"),
)
bill = Table(
    "bill",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("number", Text, nullable=False, unique=True),
    Column("period", DATERANGE, nullable=False),
    Column("tariff", Text, nullable=False),
    Column("tariff_sha256", Text, nullable=False),
    Column("total", Numeric(14, 2), nullable=False),
    Column("due_on", Date),
    Column("state", Text, nullable=False),  # draft, issued
    Column("notes", JSONB, nullable=False),
    at("made_at", now=True),
    # One bill covers any day of a user: the database forbids two that overlap.
    ExcludeConstraint(
        (text("int4range(industrial_user_id, industrial_user_id, '[]')"), "&&"),
        ("period", "&&"),
        name="one_bill_for_a_day",
        using="gist",
    ),
)
bill_line = Table(
    "bill_line",
    metadata,
    Column("bill_id", ForeignKey("bill.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("code", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("quantity", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("rate", Text, nullable=False),
    Column("unrounded", Text, nullable=False),
    Column("amount", Numeric(14, 2), nullable=False),
    Column("working", JSONB, nullable=False),
    Column("sources", JSONB, nullable=False),
    Column("samples", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
)
bill_review = Table(
    "bill_review",
    metadata,
    pk(),
    ref("bill"),
    ref("channel"),
    Column("day", Date, nullable=False),  # civil, at the plant
    Column("what", Text, nullable=False),  # volume, mean
    Column("unit", Text, nullable=False),
    Column("was", Numeric),  # NULL: nothing was measured
    Column("now", Numeric),
    Column("was_working", Text, nullable=False),
    Column("now_working", Text, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),  # one more with a change
    at("opened_at", now=True),
    at("changed_at", now=True),
    at("settled_at", nullable=True),  # from then on the row stays as it is
    Column("settled_by", Text),
    Column("settled_why", Text),
    Index(
        "one_open_review_of_a_day",
        "bill_id",
        "channel_id",
        "day",
        unique=True,
        postgresql_where=text("settled_at IS NULL"),
    ),
)
