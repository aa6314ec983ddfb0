"""Water and bills.

Revision: 0006, after 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "bill",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("period", postgresql.DATERANGE(), nullable=False),
        sa.Column("tariff", sa.Text(), nullable=False),
        sa.Column("tariff_sha256", sa.Text(), nullable=False),
        sa.Column("total", sa.Numeric(precision=14, scale=2), nullable=False),
        sa.Column("due_on", sa.Date(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("notes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        postgresql.ExcludeConstraint(
            (sa.text("int4range(industrial_user_id, industrial_user_id, '[]')"), "&&"),
            (sa.column("period"), "&&"),
            using="gist",
            name="one_bill_for_a_day",
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_bill_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bill")),
        sa.UniqueConstraint("number", name=op.f("uq_bill_number")),
    )
    op.create_index(
        op.f("ix_bill_industrial_user_id"), "bill", ["industrial_user_id"], unique=False
    )
    op.create_table(
        "water_use",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("period_from", sa.Date(), nullable=False),
        sa.Column("period_to", sa.Date(), nullable=False),
        sa.Column("gallons", sa.Numeric(), nullable=False),
        sa.Column("reads", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_water_use_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_water_use")),
        sa.UniqueConstraint(
            "industrial_user_id",
            "period_from",
            name=op.f("uq_water_use_industrial_user_id_period_from"),
        ),
    )
    op.create_index(
        op.f("ix_water_use_industrial_user_id"), "water_use", ["industrial_user_id"], unique=False
    )
    op.create_table(
        "bill_line",
        sa.Column("bill_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("rate", sa.Text(), nullable=False),
        sa.Column("unrounded", sa.Text(), nullable=False),
        sa.Column("amount", sa.Numeric(precision=14, scale=2), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sources", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["bill_id"], ["bill.id"], name=op.f("fk_bill_line_bill_id_bill")),
        sa.PrimaryKeyConstraint("bill_id", "position", name=op.f("pk_bill_line")),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("bill_line")
    op.drop_index(op.f("ix_water_use_industrial_user_id"), table_name="water_use")
    op.drop_table("water_use")
    op.drop_index(op.f("ix_bill_industrial_user_id"), table_name="bill")
    op.drop_table("bill")
