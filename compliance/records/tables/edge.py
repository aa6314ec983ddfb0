"""Events, receivers and deliveries; signs of life and faults of processes; workers and leases."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("message_id", Text, nullable=False, unique=True),
    ref("city", nullable=True),  # whose event it is; empty: of the installation
    Column("type", Text, nullable=False),
    Column("body", Text, nullable=False),  # the exact bytes that are signed and sent
    at("at", now=True),
)
endpoint = Table(
    "endpoint",
    metadata,
    pk(),
    ref("city", nullable=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("state", Text, nullable=False),  # working, disabled
    at("failing_since", nullable=True),
)
delivery = Table(
    "delivery",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("outbox_id", ForeignKey("outbox.id"), nullable=False),
    ref("endpoint"),
    Column("state", Text, nullable=False),  # waiting, delivered, dead
    Column("attempts", Integer, nullable=False, server_default="0"),
    at("next_at", now=True),
    UniqueConstraint("outbox_id", "endpoint_id"),
    Index("ix_delivery_due", "next_at", postgresql_where=text("state = 'waiting'")),
)
delivery_attempt = Table(
    "delivery_attempt",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("delivery_id", ForeignKey("delivery.id"), nullable=False, index=True),
    at("at", now=True),
    Column("status", Integer),
    Column("milliseconds", Integer, nullable=False),
    Column("headers", JSONB, nullable=False),
    Column("answer", Text, nullable=False),
)
edition_seen = Table(
    "edition_seen",
    metadata,
    Column("edition", Text, primary_key=True),  # of the server: timescale.EDITIONS
    at("first_at", now=True),
    at("last_at", now=True),
)
heartbeat = Table(
    "heartbeat",
    metadata,
    Column("process", Text, primary_key=True),
    at("at", now=True),
    Column("detail", JSONB, nullable=False),
)
fault = Table(
    "fault",
    metadata,
    pk(),
    at("at", now=True),
    Column("process", Text, nullable=False),
    Column("what", Text, nullable=False),
)
worker = Table(
    "worker",
    metadata,
    Column("name", Text, primary_key=True),
    Column("spool", Text, nullable=False),  # the id of its spool: one name, one spool
    at("seen_at", now=True),
)
lease = Table(
    "lease",
    metadata,
    Column("gateway_id", ForeignKey("gateway.id", ondelete="CASCADE"), primary_key=True),
    Column("worker", Text),  # NULL: nobody's
    Column("epoch", BigInteger, nullable=False, server_default="0"),  # how often it changed hands
    at("since", now=True),
)
token = Table(
    "token",
    metadata,
    pk(),
    Column("worker", Text, nullable=False, unique=True),
    Column("sha256", Text, nullable=False, unique=True),
    Column("points", ARRAY(Integer), nullable=False),  # the monitoring points it may send for
    at("made_at", now=True),
    at("revoked_at", nullable=True),
)
silence = Table(
    "silence",
    metadata,
    Column("channel_id", ForeignKey("channel.id"), primary_key=True),
    at("noticed_at"),
    at("told_at", nullable=True),  # when its event was written; NULL: it may be over in a moment
)
