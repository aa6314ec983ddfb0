"""Readings and days.

Revision: 0003, after 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from compliance.records import timescale

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.execute(timescale.extension_sql())
    op.create_table(
        "batch",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch")),
        sa.UniqueConstraint("worker", "sequence", name=op.f("uq_batch_worker_sequence")),
    )
    op.create_table(
        "dirty",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("batch_id", sa.BigInteger(), nullable=True),
        sa.Column("channels", sa.ARRAY(sa.Integer()), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dirty")),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
    )
    op.create_table(
        "reading",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("quality", sa.SmallInteger(), nullable=False),
        sa.Column("words", sa.BigInteger(), nullable=True),
        sa.Column("offset_ms", sa.Integer(), nullable=False),
        sa.Column("device_offset_ms", sa.Integer(), nullable=True),
        sa.Column("batch_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("value <> 'NaN'::float8", name=op.f("ck_reading_no_nan")),
        sa.PrimaryKeyConstraint("channel_id", "read_at", name=op.f("pk_reading")),
        info={"hypertable": "read_at"},
    )
    op.create_table(
        "day_fact",
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("flow_gal", sa.Numeric(), nullable=True),
        sa.Column("sanitary_gal", sa.Numeric(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_day_fact_monitoring_point_id_monitoring_point"),
        ),
        sa.PrimaryKeyConstraint("monitoring_point_id", "day", name=op.f("pk_day_fact")),
    )
    op.execute(timescale.hypertable_sql("reading", "read_at"))


def downgrade() -> None:
    """Back."""
    op.drop_table("day_fact")
    op.drop_table("reading")
    op.drop_table("quarantine")
    op.drop_table("dirty")
    op.drop_table("batch")
