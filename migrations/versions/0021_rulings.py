"""What each city's readings were judged by, and since when.

Revision: 0021, after 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "ruling",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("marked", sa.Integer(), nullable=False),
        sa.Column("release", sa.Text(), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_ruling_city_id_city")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ruling")),
    )
    op.create_index(op.f("ix_ruling_city_id"), "ruling", ["city_id"])
    op.create_index("ix_ruling_city_id_rule_id", "ruling", ["city_id", "rule_id"])


def downgrade() -> None:
    """Back."""
    op.drop_table("ruling")
