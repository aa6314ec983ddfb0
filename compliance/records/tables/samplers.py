"""Proportional samplers, the composites they took, and meters that people exchanged."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
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
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

sampler = Table(
    "sampler",
    metadata,
    pk(),
    ref("monitoring_point"),
    Column("effective", Date, nullable=False),  # from this day on, until the next row
    Column("aliquots_channel_id", ForeignKey("channel.id"), nullable=False),
    Column("total_channel_id", ForeignKey("channel.id"), nullable=False),
    Column("bottle_channel_id", ForeignKey("channel.id")),
    Column("cabinet_channel_id", ForeignKey("channel.id")),
    Column("composite", Text, nullable=False),  # what one is: bottle, program, day
    Column("gallons_per_aliquot", Numeric, nullable=False),
    Column("aliquots_per_bottle", Integer),
    Column("moves_when_full", Boolean, nullable=False),
    Column("tolerance", Numeric, nullable=False),  # a share; ours, no law's
    Column("warmest_deg_c", Numeric),
    UniqueConstraint("monitoring_point_id", "effective"),
)
composite = Table(
    "composite",
    metadata,
    pk(),
    Column("monitoring_point_id", ForeignKey("monitoring_point.id"), nullable=False),
    ref("sampler"),
    at("starts_at"),
    at("ends_at"),
    Column("day", Date, nullable=False),  # the civil day with the greater part of its water
    Column("is_open", Boolean, nullable=False),  # still being filled
    Column("bottles", ARRAY(Integer), nullable=False),
    Column("aliquots", Integer, nullable=False),
    Column("due", Text),  # decimals, as the working has them
    Column("missed", Integer, nullable=False),
    Column("gallons", Text),
    Column("representativeness", Text),
    Column("warmest_deg_c", Text),
    Column("faults", JSONB, nullable=False),
    Column("working", JSONB, nullable=False),
    at("computed_at"),
    Column("computed_by", Text, nullable=False),  # the release
    at("superseded_at", nullable=True),
    Column("superseded_why", Text),
    Index("ix_composite_point_day", "monitoring_point_id", "day"),
    Index(
        "uq_composite_standing",
        "monitoring_point_id",
        "starts_at",
        unique=True,
        postgresql_where=text("superseded_at IS NULL"),
    ),
)
meter_event = Table(
    "meter_event",
    metadata,
    pk(),
    ref("channel"),
    at("at"),
    Column("kind", Text, nullable=False),  # replaced
    Column("final", Numeric, nullable=False),  # what the old meter showed last
    Column("initial", Numeric, nullable=False),  # what the new one showed first
    Column("reason", Text, nullable=False),
    ref("person"),
    at("noted_at", now=True),
    at("withdrawn_at", nullable=True),
    Column("withdrawn_by", ForeignKey("person.id")),
)
