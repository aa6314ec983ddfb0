"""Quarter-hours and civil days of channels; whatever is stored is rolled up once.

Revision: 0016, after 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def _figures() -> list[sa.Column[object]]:
    return [
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column("good", sa.Integer(), nullable=False),
        sa.Column("lowest", sa.Double(), nullable=True),
        sa.Column("highest", sa.Double(), nullable=True),
        sa.Column("area", sa.Double(), nullable=False),
        sa.Column("held_us", sa.BigInteger(), nullable=False),
    ]


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "rollup_quarter",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("quarter", sa.DateTime(timezone=True), nullable=False),
        *_figures(),
        sa.Column("first", sa.Double(), nullable=True),
        sa.Column("last", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("channel_id", "quarter", name=op.f("pk_rollup_quarter")),
    )
    op.create_table(
        "rollup_day",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        *_figures(),
        sa.Column("length_us", sa.BigInteger(), nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("channel_id", "day", name=op.f("pk_rollup_day")),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("rollup_day")
    op.drop_table("rollup_quarter")
