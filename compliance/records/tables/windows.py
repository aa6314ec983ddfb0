"""Windows over channels in which readings do not count, as people declared them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, Text, UniqueConstraint

from compliance.records.tables.common import at, metadata, pk, ref

declared_window = Table(
    "declared_window",
    metadata,
    pk(),
    Column("number", Integer, nullable=False),  # of the declaration; one row for each channel
    ref("channel"),
    at("since"),
    at("until", nullable=True),  # empty: it goes on
    Column("kind", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("declared_by", Text, nullable=False),
    at("declared_at"),
    Column("ended_by", Text),  # who said when an open one ended
    at("ended_at", nullable=True),
    Column("withdrawn_by", Text),  # withdrawing is written down, nothing is deleted
    at("withdrawn_at", nullable=True),
    Column("withdrawn_why", Text),
    UniqueConstraint("number", "channel_id"),
    CheckConstraint("until > since", name="ends_after_it_began"),
    CheckConstraint("kind IN ('maintenance', 'calibration', 'out_of_service')", name="kind"),
    Index("ix_declared_window_since", "since"),
)
