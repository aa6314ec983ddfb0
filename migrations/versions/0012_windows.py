"""Windows in which an instrument's readings do not count; an index of readings not relied on.

Revision: 0012, after 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "declared_window",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("declared_by", sa.Text(), nullable=False),
        sa.Column("declared_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Text(), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_why", sa.Text(), nullable=True),
        sa.CheckConstraint("until > since", name=op.f("ck_declared_window_ends_after_it_began")),
        sa.CheckConstraint(
            "kind IN ('maintenance', 'calibration', 'out_of_service')",
            name=op.f("ck_declared_window_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_declared_window_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_declared_window")),
        sa.UniqueConstraint(
            "number", "channel_id", name=op.f("uq_declared_window_number_channel_id")
        ),
    )
    op.create_index("ix_declared_window_channel_id", "declared_window", ["channel_id"])
    op.create_index("ix_declared_window_since", "declared_window", ["since"])
    op.create_index(
        "ix_reading_flagged",
        "reading",
        ["channel_id", "read_at"],
        postgresql_where=sa.text("quality <> 0"),
    )


def downgrade() -> None:
    """Back."""
    op.drop_index("ix_reading_flagged", table_name="reading")
    op.drop_index("ix_declared_window_since", table_name="declared_window")
    op.drop_index("ix_declared_window_channel_id", table_name="declared_window")
    op.drop_table("declared_window")
