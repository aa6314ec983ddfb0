"""Metered water, bills and their lines."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    ForeignKey,
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
