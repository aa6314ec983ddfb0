"""What control authorities determined of significant noncompliance.

Revision: 0023, after 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "snc_determination",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("quarter_end", sa.Date(), nullable=False),
        sa.Column("is_snc", sa.Boolean(), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("decided_on", sa.Date(), nullable=False),
        sa.Column("signed_by", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("point", sa.Text(), nullable=True),
        sa.Column("parameter", sa.Text(), nullable=True),
        sa.Column("document_name", sa.Text(), nullable=True),
        sa.Column("document_sha256", sa.Text(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.Column("entered_by", sa.Text(), nullable=False),
        sa.Column(
            "entered_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.Text(), nullable=True),
        sa.Column("withdrawn_why", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "criterion IN ('A','B','C','D','E','F','G','H')",
            name=op.f("ck_snc_determination_is_a_criterion"),
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_snc_determination_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snc_determination")),
    )
    op.create_index(
        op.f("ix_snc_determination_industrial_user_id"),
        "snc_determination",
        ["industrial_user_id"],
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("snc_determination")
