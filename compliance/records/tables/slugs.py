"""What people note and decide about possible slugs."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

slug_note = Table(
    "slug_note",
    metadata,
    pk(),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),  # notice, follow_up, phone, effect
    at("happened_at"),
    Column("words", Text, nullable=False),
    Column("noted_by", Text, nullable=False),
    at("noted_at", now=True),
    CheckConstraint("kind IN ('notice', 'follow_up', 'phone', 'effect')", name="known_kind"),
)
slug_decision = Table(
    "slug_decision",
    metadata,
    pk(),
    Column("exceedance_id", ForeignKey("exceedance.id"), nullable=False, index=True),
    Column("outcome", Text, nullable=False),  # slug, explained; the newest stands
    Column("reason", Text, nullable=False),
    Column("elements", JSONB, nullable=False),  # [{key, happened, saw}]
    Column("citation", Text),  # the definition that was asked
    ref("person"),
    Column("capacity", Text, nullable=False),
    at("decided_at", now=True),
    CheckConstraint("outcome IN ('slug', 'explained')", name="known_outcome"),
)
