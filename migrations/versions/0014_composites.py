"""Composites of proportional samplers, and the tool that may enable one.

Revision: 0014, after 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.add_column("channel", sa.Column("max_per_second", sa.Text(), nullable=True))
    op.add_column(
        "person",
        sa.Column("permits", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
    )
    _meter_event()
    _sampler()
    _composite()


def downgrade() -> None:
    """Back."""
    op.drop_table("composite")
    op.drop_table("sampler")
    op.drop_table("meter_event")
    op.drop_column("person", "permits")
    op.drop_column("channel", "max_per_second")


def _meter_event() -> None:
    op.create_table(
        "meter_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("final", sa.Numeric(), nullable=False),
        sa.Column("initial", sa.Numeric(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column(
            "noted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_meter_event_channel_id_channel")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_meter_event_person_id_person")
        ),
        sa.ForeignKeyConstraint(
            ["withdrawn_by"], ["person.id"], name=op.f("fk_meter_event_withdrawn_by_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_meter_event")),
    )
    op.create_index(op.f("ix_meter_event_channel_id"), "meter_event", ["channel_id"])
    op.create_index(op.f("ix_meter_event_person_id"), "meter_event", ["person_id"])


def _sampler() -> None:
    channels = ("aliquots_channel_id", "total_channel_id", "bottle_channel_id")
    op.create_table(
        "sampler",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("effective", sa.Date(), nullable=False),
        sa.Column("aliquots_channel_id", sa.Integer(), nullable=False),
        sa.Column("total_channel_id", sa.Integer(), nullable=False),
        sa.Column("bottle_channel_id", sa.Integer(), nullable=True),
        sa.Column("cabinet_channel_id", sa.Integer(), nullable=True),
        sa.Column("composite", sa.Text(), nullable=False),
        sa.Column("gallons_per_aliquot", sa.Numeric(), nullable=False),
        sa.Column("aliquots_per_bottle", sa.Integer(), nullable=True),
        sa.Column("moves_when_full", sa.Boolean(), nullable=False),
        sa.Column("tolerance", sa.Numeric(), nullable=False),
        sa.Column("warmest_deg_c", sa.Numeric(), nullable=True),
        *(
            sa.ForeignKeyConstraint([name], ["channel.id"], name=op.f(f"fk_sampler_{name}_channel"))
            for name in (*channels, "cabinet_channel_id")
        ),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_sampler_monitoring_point_id_monitoring_point"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sampler")),
        sa.UniqueConstraint(
            "monitoring_point_id",
            "effective",
            name=op.f("uq_sampler_monitoring_point_id_effective"),
        ),
    )
    op.create_index(op.f("ix_sampler_monitoring_point_id"), "sampler", ["monitoring_point_id"])


def _composite() -> None:
    op.create_table(
        "composite",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("sampler_id", sa.Integer(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("bottles", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("aliquots", sa.Integer(), nullable=False),
        sa.Column("due", sa.Text(), nullable=True),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("gallons", sa.Text(), nullable=True),
        sa.Column("representativeness", sa.Text(), nullable=True),
        sa.Column("warmest_deg_c", sa.Text(), nullable=True),
        sa.Column("faults", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("computed_by", sa.Text(), nullable=False),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("superseded_why", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_composite_monitoring_point_id_monitoring_point"),
        ),
        sa.ForeignKeyConstraint(
            ["sampler_id"], ["sampler.id"], name=op.f("fk_composite_sampler_id_sampler")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_composite")),
    )
    op.create_index(op.f("ix_composite_sampler_id"), "composite", ["sampler_id"])
    op.create_index("ix_composite_point_day", "composite", ["monitoring_point_id", "day"])
    op.create_index(
        "uq_composite_standing",
        "composite",
        ["monitoring_point_id", "starts_at"],
        unique=True,
        postgresql_where=sa.text("superseded_at IS NULL"),
    )
