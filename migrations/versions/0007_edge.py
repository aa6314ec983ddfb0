"""Events, deliveries, signs of life.

Revision: 0007, after 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "fault",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fault")),
    )
    op.create_table(
        "heartbeat",
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("process", name=op.f("pk_heartbeat")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("message_id", name=op.f("uq_outbox_message_id")),
    )
    op.create_table(
        "endpoint",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_endpoint_city_id_city")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint")),
    )
    op.create_index(op.f("ix_endpoint_city_id"), "endpoint", ["city_id"], unique=False)
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("outbox_id", sa.BigInteger(), nullable=False),
        sa.Column("endpoint_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_delivery_endpoint_id_endpoint")
        ),
        sa.ForeignKeyConstraint(
            ["outbox_id"], ["outbox.id"], name=op.f("fk_delivery_outbox_id_outbox")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint(
            "outbox_id", "endpoint_id", name=op.f("uq_delivery_outbox_id_endpoint_id")
        ),
    )
    op.create_index(
        "ix_delivery_due",
        "delivery",
        ["next_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(op.f("ix_delivery_endpoint_id"), "delivery", ["endpoint_id"], unique=False)
    op.create_table(
        "delivery_attempt",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("delivery_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=False),
        sa.Column("headers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_attempt_delivery_id_delivery")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_index(
        op.f("ix_delivery_attempt_delivery_id"), "delivery_attempt", ["delivery_id"], unique=False
    )


def downgrade() -> None:
    """Back."""
    op.drop_index(op.f("ix_delivery_attempt_delivery_id"), table_name="delivery_attempt")
    op.drop_table("delivery_attempt")
    op.drop_index(op.f("ix_delivery_endpoint_id"), table_name="delivery")
    op.drop_index(
        "ix_delivery_due", table_name="delivery", postgresql_where=sa.text("state = 'waiting'")
    )
    op.drop_table("delivery")
    op.drop_index(op.f("ix_endpoint_city_id"), table_name="endpoint")
    op.drop_table("endpoint")
    op.drop_table("outbox")
    op.drop_table("heartbeat")
    op.drop_table("fault")
