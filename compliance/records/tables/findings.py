"""Facts, detections, violations, acts, and shares of design."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

fold_state = Table(
    "fold_state",
    metadata,
    Column("rule_id", Text, primary_key=True),
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    at("folded_to"),
    Column("state", JSONB, nullable=False),
)
fold_hour = Table(
    "fold_hour",
    metadata,
    Column("rule_id", Text, primary_key=True),
    Column("channel_id", Integer, primary_key=True, autoincrement=False),
    Column("hour", DateTime(timezone=True), primary_key=True),
    Column("state", JSONB, nullable=False),
)
exceedance = Table(
    "exceedance",
    metadata,
    Column("id", Text, primary_key=True),
    ref("monitoring_point"),
    ref("channel", nullable=True),
    ref("result", nullable=True),
    Column("rule_id", Text, nullable=False),
    Column("effective", Date),
    Column("kind", Text, nullable=False),
    Column("parameter", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("side", Text, nullable=False),
    at("starts_at"),
    at("ends_at"),
    Column("seconds", Integer, nullable=False),
    Column("seconds_beyond", Integer, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("worst", Text, nullable=False),
    at("worst_at"),
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
    at("judged_at", now=True),
    Column("judged_by", Text, nullable=False),  # the release that judged
    at("superseded_at", nullable=True),
    Column("superseded_why", Text),
    Index("ix_exceedance_channel_rule_starts", "channel_id", "rule_id", "starts_at"),
)
exceedance_history = Table(
    "exceedance_history",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, index=True),
    at("at", now=True),
    Column("why", Text, nullable=False),
    Column("was", JSONB, nullable=False),
)
detection = Table(
    "detection",
    metadata,
    pk(),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, unique=True),
    ref("industrial_user"),
    Column("state", Text, nullable=False),  # detected, opened, explained, joined, waiting
    Column("differs", Text),  # what a re-run would say now, once a person has decided
    at("detected_at", now=True),
)
violation = Table(
    "violation",
    metadata,
    pk(),
    ref("industrial_user"),
    ref("detection"),
    Column("number", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),  # opened, noticed, corrected, escalated, closed
    Column("reason", Text, nullable=False),
    Column("opened_by", ForeignKey("person.id"), nullable=False),
    Column("capacity", Text, nullable=False),  # the office under which the person acted
    at("opened_at", now=True),
    UniqueConstraint("detection_id"),
)
act = Table(
    "act",
    metadata,
    Column("id", BigInteger, primary_key=True),
    at("at", now=True),
    ref("person", nullable=True),  # empty: the program
    Column("subject", Text, nullable=False),  # detection:12, bill:4 …
    Column("verb", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", JSONB, nullable=False),
    Index("ix_act_subject", "subject"),
)
trigger_fact = Table(
    "trigger_fact",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("rule_id", Text, nullable=False),
    Column("as_of", Date, nullable=False),
    Column("state", Text, nullable=False),  # below, approaching, reached, projected
    Column("share", Text, nullable=False),
    Column("working", JSONB, nullable=False),
    at("judged_at", now=True),
    UniqueConstraint("industrial_user_id", "rule_id", "as_of"),
)
