"""Gaps with their causes; workers, leases of gateways, tokens of remote sites.

Revision: 0010, after 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "gap",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channels", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column(
            "noted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gap")),
    )
    op.create_index("ix_gap_channels", "gap", ["channels"], postgresql_using="gin")
    op.create_index("ix_gap_until", "gap", ["until"])
    op.create_table(
        "worker",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spool", sa.Text(), nullable=False),
        sa.Column(
            "seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker")),
    )
    op.create_table(
        "lease",
        sa.Column("gateway_id", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "since", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["gateway_id"],
            ["gateway.id"],
            name=op.f("fk_lease_gateway_id_gateway"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("gateway_id", name=op.f("pk_lease")),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("points", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column(
            "made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("sha256", name=op.f("uq_token_sha256")),
        sa.UniqueConstraint("worker", name=op.f("uq_token_worker")),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("token")
    op.drop_table("lease")
    op.drop_table("worker")
    op.drop_index("ix_gap_until", table_name="gap")
    op.drop_index("ix_gap_channels", table_name="gap", postgresql_using="gin")
    op.drop_table("gap")
