"""Permits, orders, agreements, the program's own values; approvals.

Revision: 0022, after 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "control",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("effective", sa.Date(), nullable=False),
        sa.Column("ended", sa.Date(), nullable=True),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("file", sa.LargeBinary(), nullable=True),
        sa.Column("entered_by", sa.Text(), nullable=False),
        sa.Column(
            "entered_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint("ended > effective", name=op.f("ck_control_ends_after_it_began")),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_control_city_id_city")),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_control_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_control")),
        sa.UniqueConstraint(
            "city_id", "kind", "key", "version", name=op.f("uq_control_city_id_kind_key_version")
        ),
    )
    op.create_index(op.f("ix_control_city_id"), "control", ["city_id"])
    op.create_index(op.f("ix_control_industrial_user_id"), "control", ["industrial_user_id"])
    op.create_table(
        "approval",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("at_least", sa.Text(), nullable=True),
        sa.Column("at_most", sa.Text(), nullable=True),
        sa.Column("unit", sa.Text(), nullable=True),
        sa.Column("since", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("office", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("document_name", sa.Text(), nullable=True),
        sa.Column("document_sha256", sa.Text(), nullable=True),
        sa.Column("file", sa.LargeBinary(), nullable=True),
        sa.Column("entered_by", sa.Text(), nullable=False),
        sa.Column(
            "entered_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("withdrawn_on", sa.Date(), nullable=True),
        sa.Column("withdrawn_by", sa.Text(), nullable=True),
        sa.Column("withdrawn_why", sa.Text(), nullable=True),
        sa.CheckConstraint("until > since", name=op.f("ck_approval_ends_after_it_began")),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_approval_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval")),
    )
    op.create_index(op.f("ix_approval_industrial_user_id"), "approval", ["industrial_user_id"])


def downgrade() -> None:
    """Back."""
    op.drop_table("approval")
    op.drop_table("control")
