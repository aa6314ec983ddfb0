"""Every table, as SQLAlchemy Core. Private to this package and to the migrations."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import DATERANGE, JSONB, ExcludeConstraint

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _ref(to: str, *, name: str | None = None, nullable: bool = False) -> Column[int]:
    return Column(name or f"{to}_id", ForeignKey(f"{to}.id"), nullable=nullable, index=True)


def _at(name: str, *, nullable: bool = False, now: bool = False) -> Column[object]:
    default = func.now() if now else None
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default)


# -- who and where

city = Table(
    "city",
    metadata,
    _id(),
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
    _id(),
    _ref("city"),
    Column("name", Text, nullable=False),
    Column("average_design", JSONB, nullable=False),  # flow_mgd, bod5_lb_day, tss_lb_day, tp_lb_day
    Column("source", Text, nullable=False),
)
industrial_user = Table(
    "industrial_user",
    metadata,
    _id(),
    _ref("city"),
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
    _id(),
    _ref("industrial_user"),
    Column("code", Text, nullable=False, unique=True),
    Column("place", Text, nullable=False),
)
gateway = Table(
    "gateway",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    UniqueConstraint("host", "port"),
)
instrument = Table(
    "instrument",
    metadata,
    _id(),
    _ref("gateway"),
    _ref("monitoring_point"),
    Column("unit_id", Integer, nullable=False),
    Column("map_name", Text, nullable=False),
    Column("byte_order", Text),
    Column("confirmed_by", Text),
    _at("confirmed_at", nullable=True),
    Column("confirmed_how", Text),
    UniqueConstraint("gateway_id", "unit_id"),
)
channel = Table(
    "channel",
    metadata,
    _id(),
    _ref("monitoring_point"),
    _ref("instrument", nullable=True),
    Column("entry", Text, nullable=False),
    Column("parameter", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("resolution", Text, nullable=False),
    Column("span_low", Double),
    Column("span_high", Double),
    Column("modulus", Text),
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
    _id(),
    _ref("channel"),
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
    _id(),
    _ref("channel"),
    _at("calibrated_at"),
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
    _at("published_at", now=True),
)

# -- readings

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
    info={"hypertable": "read_at"},
)
batch = Table(
    "batch",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("readings", Integer, nullable=False),
    _at("received_at", now=True),
    UniqueConstraint("worker", "sequence"),
)
dirty = Table(
    "dirty",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("batch_id", BigInteger),  # empty: every reading of the channels in the span counts
    Column("channels", ARRAY(Integer), nullable=False),
    _at("since"),
    _at("until"),
    Column("why", Text, nullable=False),
)
quarantine = Table(
    "quarantine",
    metadata,
    _id(),
    Column("worker", Text, nullable=False),
    Column("sequence", BigInteger),
    Column("reason", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    _at("at", now=True),
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

# -- samples

upload = Table(
    "upload",
    metadata,
    _id(),
    _ref("industrial_user"),
    _ref("person", nullable=True),
    Column("filename", Text, nullable=False),  # as given: shown, never used as a path
    Column("sha256", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    _at("received_at", now=True),
    UniqueConstraint("industrial_user_id", "sha256"),
)
sample = Table(
    "sample",
    metadata,
    _id(),
    _ref("monitoring_point"),
    _ref("upload", nullable=True),
    Column("label", Text, nullable=False),  # the laboratory's number
    Column("sample_type", Text, nullable=False),
    Column("taken_by", Text, nullable=False),  # industrial_user, control_authority, city
    Column("laboratory", Text),
    _at("sampled_from"),
    _at("sampled_to"),
    Column("day", Date),  # the civil day it belongs to, as found when it was received
    Column("timed", Boolean, nullable=False, server_default=text("true")),  # false: days only
    UniqueConstraint("monitoring_point_id", "label", "sampled_to"),
)
result = Table(
    "result",
    metadata,
    _id(),
    _ref("sample"),
    Column("parameter", Text, nullable=False),
    Column("qualifier", Text, nullable=False),
    Column("value", Numeric, nullable=False),  # of a non-detect: the limit it lies below
    Column("written", Text, nullable=False),  # the number as the file wrote it
    Column("unit", Text, nullable=False),
    Column("mdl", Numeric),
    Column("rl", Numeric),
    Column("method", Text),
    Column("row", Integer),
    UniqueConstraint("sample_id", "parameter"),
)

# -- findings

fold_state = Table(
    "fold_state",
    metadata,
    Column("rule_id", Text, primary_key=True),
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    _at("folded_to"),
    Column("state", JSONB, nullable=False),
)
exceedance = Table(
    "exceedance",
    metadata,
    Column("id", Text, primary_key=True),
    _ref("monitoring_point"),
    _ref("channel", nullable=True),
    _ref("result", nullable=True),
    Column("rule_id", Text, nullable=False),
    Column("effective", Date),
    Column("kind", Text, nullable=False),
    Column("parameter", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("side", Text, nullable=False),
    _at("starts_at"),
    _at("ends_at"),
    Column("seconds", Integer, nullable=False),
    Column("seconds_beyond", Integer, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("worst", Text, nullable=False),
    _at("worst_at"),
    Column("limit", Text, nullable=False),
    Column("readings", Integer, nullable=False),
    Column("open_ended", Boolean, nullable=False),
    Column("review", Boolean, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("citation", Text, nullable=False),
    Column("says", Text, nullable=False),
    Column("authority", Text, nullable=False),
    Column("working", JSONB, nullable=False),
    Column("evidence", JSONB, nullable=False),
    _at("judged_at", now=True),
    Column("judged_by", Text, nullable=False),  # the release that judged
    _at("superseded_at", nullable=True),
    Column("superseded_why", Text),
    Index("ix_exceedance_channel_rule_starts", "channel_id", "rule_id", "starts_at"),
)
exceedance_history = Table(
    "exceedance_history",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, index=True),
    _at("at", now=True),
    Column("why", Text, nullable=False),
    Column("was", JSONB, nullable=False),
)
detection = Table(
    "detection",
    metadata,
    _id(),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, unique=True),
    _ref("industrial_user"),
    Column("state", Text, nullable=False),  # detected, opened, explained, joined, waiting
    Column("differs", Text),  # what a re-run would say now, once a person has decided
    _at("detected_at", now=True),
)
violation = Table(
    "violation",
    metadata,
    _id(),
    _ref("industrial_user"),
    _ref("detection"),
    Column("number", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),  # opened, noticed, corrected, escalated, closed
    Column("reason", Text, nullable=False),
    Column("opened_by", ForeignKey("person.id"), nullable=False),
    Column("capacity", Text, nullable=False),  # the office under which the person acted
    _at("opened_at", now=True),
    UniqueConstraint("detection_id"),
)
act = Table(
    "act",
    metadata,
    Column("id", BigInteger, primary_key=True),
    _at("at", now=True),
    _ref("person", nullable=True),  # empty: the program
    Column("subject", Text, nullable=False),  # detection:12, bill:4 …
    Column("verb", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", JSONB, nullable=False),
    Index("ix_act_subject", "subject"),
)
trigger_fact = Table(
    "trigger_fact",
    metadata,
    _id(),
    _ref("industrial_user"),
    Column("rule_id", Text, nullable=False),
    Column("as_of", Date, nullable=False),
    Column("state", Text, nullable=False),  # below, approaching, reached, projected
    Column("share", Text, nullable=False),
    Column("working", JSONB, nullable=False),
    _at("judged_at", now=True),
    UniqueConstraint("industrial_user_id", "rule_id", "as_of"),
)

# -- money

water_use = Table(
    "water_use",
    metadata,
    _id(),
    _ref("industrial_user"),
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
    _id(),
    _ref("industrial_user"),
    Column("number", Text, nullable=False, unique=True),
    Column("period", DATERANGE, nullable=False),
    Column("tariff", Text, nullable=False),
    Column("tariff_sha256", Text, nullable=False),
    Column("total", Numeric(14, 2), nullable=False),
    Column("due_on", Date),
    Column("state", Text, nullable=False),  # draft, issued
    Column("notes", JSONB, nullable=False),
    _at("made_at", now=True),
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
)

# -- people and machines at the edge

person = Table(
    "person",
    metadata,
    _id(),
    Column("login", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("password", Text, nullable=False),  # argon2
    Column("role", Text, nullable=False),
    Column("office", Text, nullable=False),  # the capacity in which this person acts
    _ref("city", nullable=True),
    _ref("industrial_user", nullable=True),
)
session = Table(
    "session",
    metadata,
    Column("token_sha256", Text, primary_key=True),
    _ref("person"),
    _at("created_at", now=True),
    _at("seen_at", now=True),
)
signin_failure = Table(
    "signin_failure",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("login", Text, nullable=False, index=True),
    _at("at", now=True),
)
idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("answer", JSONB, nullable=False),
    _at("at", now=True),
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("message_id", Text, nullable=False, unique=True),
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),  # the exact bytes that are signed and sent
    _at("at", now=True),
)
endpoint = Table(
    "endpoint",
    metadata,
    _id(),
    _ref("city", nullable=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("state", Text, nullable=False),  # working, disabled
    _at("failing_since", nullable=True),
)
delivery = Table(
    "delivery",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("outbox_id", ForeignKey("outbox.id"), nullable=False),
    _ref("endpoint"),
    Column("state", Text, nullable=False),  # waiting, delivered, dead
    Column("attempts", Integer, nullable=False, server_default="0"),
    _at("next_at", now=True),
    UniqueConstraint("outbox_id", "endpoint_id"),
    Index("ix_delivery_due", "next_at", postgresql_where=text("state = 'waiting'")),
)
delivery_attempt = Table(
    "delivery_attempt",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("delivery_id", ForeignKey("delivery.id"), nullable=False, index=True),
    _at("at", now=True),
    Column("status", Integer),
    Column("milliseconds", Integer, nullable=False),
    Column("headers", JSONB, nullable=False),
    Column("answer", Text, nullable=False),
)
heartbeat = Table(
    "heartbeat",
    metadata,
    Column("process", Text, primary_key=True),
    _at("at", now=True),
    Column("detail", JSONB, nullable=False),
)
fault = Table(
    "fault",
    metadata,
    _id(),
    _at("at", now=True),
    Column("process", Text, nullable=False),
    Column("what", Text, nullable=False),
)
