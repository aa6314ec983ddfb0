"""Cities, users, points, gateways, instruments, channels, and their papers."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

city = Table(
    "city",
    metadata,
    pk(),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("rulebooks", ARRAY(Text), nullable=False),  # those that bind here
    Column("control_authority", Text, nullable=False),
    Column("ordinance_authority", Text, nullable=False),
    Column("billing_authority", Text, nullable=False),
)
plant = Table(
    "plant",
    metadata,
    pk(),
    ref("city"),
    Column("name", Text, nullable=False),
    Column("average_design", JSONB, nullable=False),  # flow_mgd, bod5_lb_day, tss_lb_day, tp_lb_day
    Column("source", Text, nullable=False),
)
industrial_user = Table(
    "industrial_user",
    metadata,
    pk(),
    ref("city"),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("makes", Text, nullable=False),
    Column("is_significant", Boolean, nullable=False),
    Column("category", Text, nullable=False),
    Column("water_meter", Text, nullable=False),  # its size
)
monitoring_point = Table(
    "monitoring_point",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("code", Text, nullable=False, unique=True),
    Column("place", Text, nullable=False),
)
gateway = Table(
    "gateway",
    metadata,
    pk(),
    Column("name", Text, nullable=False, unique=True),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("transport", Text, nullable=False, server_default="tcp"),
    UniqueConstraint("host", "port"),
)
instrument = Table(
    "instrument",
    metadata,
    pk(),
    ref("gateway"),
    ref("monitoring_point"),
    Column("unit_id", Integer, nullable=False),
    Column("map_name", Text, nullable=False),
    Column("byte_order", Text),
    Column("confirmed_by", Text),
    at("confirmed_at", nullable=True),
    Column("confirmed_how", Text),
    UniqueConstraint("gateway_id", "unit_id"),
)
channel = Table(
    "channel",
    metadata,
    pk(),
    ref("monitoring_point"),
    ref("instrument", nullable=True),
    Column("entry", Text, nullable=False),
    Column("parameter", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("resolution", Text, nullable=False),
    Column("span_low", Double),
    Column("span_high", Double),
    Column("modulus", Text),
    Column("max_per_second", Text),  # of a total: the most that the pipe can pass
    Column("is_read", Boolean, nullable=False, server_default="true"),
    UniqueConstraint("instrument_id", "entry"),
)
channel_cadence = Table(
    "channel_cadence",
    metadata,
    Column("channel_id", ForeignKey("channel.id"), primary_key=True),
    Column("since", DateTime(timezone=True), primary_key=True),
    Column("interval_ms", Integer, nullable=False),
)
commissioning = Table(
    "commissioning",
    metadata,
    pk(),
    ref("channel"),
    Column("method", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("frequency", Text, nullable=False),
    Column("approved_by", Text, nullable=False),
    Column("approved_on", Date, nullable=False),
    Column("document", Text, nullable=False),
    Column("calibration_days", Integer, nullable=False),
)
calibration = Table(
    "calibration",
    metadata,
    pk(),
    ref("channel"),
    at("calibrated_at"),
    Column("by", Text, nullable=False),
    Column("standards", JSONB, nullable=False),  # [{standard, before, after}]
    Column("drift", Text, nullable=False),
)
register_map = Table(
    "register_map",
    metadata,
    Column("name", Text, primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("content", JSONB, nullable=False),
    Column("published_by", Text, nullable=False),
    at("published_at", now=True),
)
