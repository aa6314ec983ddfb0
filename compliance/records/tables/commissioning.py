"""Questions to instruments and their answers, comparisons with displays, and what counts since."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

field_question = Table(
    "field_question",
    metadata,
    pk(),
    ref("person", name="asked_by"),
    at("asked_at", now=True),
    Column("kind", Text, nullable=False),  # scan, read
    Column("gateway_id", ForeignKey("gateway.id", ondelete="SET NULL"), index=True),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("transport", Text, nullable=False),
    Column("first_unit", Integer, nullable=False),
    Column("last_unit", Integer, nullable=False),  # the same as the first where it is read
    Column("map_name", Text),
    Column("byte_order", Text),
    Column("taken_by", Text),  # a worker
    at("taken_at", nullable=True),
    at("answered_at", nullable=True),
    Column("answer", JSONB),
    Column("problem", Text),
    Index("ix_field_question_waiting", "id", postgresql_where=text("answered_at IS NULL")),
)
comparison = Table(
    "comparison",
    metadata,
    pk(),
    ref("instrument"),
    ref("field_question"),
    at("compared_at", now=True),
    Column("by", Text, nullable=False),
    Column("agrees", Boolean, nullable=False),
    Column("byte_order", Text),  # the one that was settled
    Column("lines", JSONB, nullable=False),  # by channel: entry, words, display, says, read_by
    Column("problem", Text, nullable=False),
)
counting = Table(
    "counting",
    metadata,
    pk(),
    ref("channel"),
    at("since"),
    at("until", nullable=True),
    Column("by", Text, nullable=False),
    Column("how", Text, nullable=False),
    Column("read_by", JSONB),  # all that decided which number its registers are; null: not known
    at("noted_at", now=True),
    Column("ended_by", Text),
    Column("ended_why", Text),
    Index("ix_counting_open", "channel_id", unique=True, postgresql_where=text("until IS NULL")),
)
