"""Whose city an event is of; the request behind a key; where a failed sign-in came from; samples.

Revision: 0008, after 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# An event that was sent to a receiver of one city is of that city, and one that names a point is
# of its city; any other stays without one, and only who sees every city sees it.
FROM_RECEIVERS = """
UPDATE outbox SET city_id = endpoint.city_id
FROM delivery JOIN endpoint ON endpoint.id = delivery.endpoint_id
WHERE delivery.outbox_id = outbox.id AND endpoint.city_id IS NOT NULL
"""
FROM_POINTS = """
UPDATE outbox SET city_id = industrial_user.city_id
FROM monitoring_point JOIN industrial_user
  ON industrial_user.id = monitoring_point.industrial_user_id
WHERE outbox.city_id IS NULL
  AND monitoring_point.code = outbox.body::json #>> '{data,point}'
"""


def upgrade() -> None:
    """Forward."""
    op.add_column("outbox", sa.Column("city_id", sa.Integer(), nullable=True))
    op.create_foreign_key(op.f("fk_outbox_city_id_city"), "outbox", "city", ["city_id"], ["id"])
    op.create_index(op.f("ix_outbox_city_id"), "outbox", ["city_id"], unique=False)
    op.execute(FROM_RECEIVERS)
    op.execute(FROM_POINTS)
    op.add_column(
        "idempotency_key",
        sa.Column("request_sha256", sa.Text(), server_default="", nullable=False),
    )
    op.add_column(
        "signin_failure", sa.Column("address", sa.Text(), server_default="", nullable=False)
    )
    op.create_index(op.f("ix_signin_failure_address"), "signin_failure", ["address"], unique=False)
    op.add_column(
        "bill_line",
        sa.Column(
            "samples",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
        ),
    )


def downgrade() -> None:
    """Back."""
    op.drop_column("bill_line", "samples")
    op.drop_index(op.f("ix_signin_failure_address"), table_name="signin_failure")
    op.drop_column("signin_failure", "address")
    op.drop_column("idempotency_key", "request_sha256")
    op.drop_index(op.f("ix_outbox_city_id"), table_name="outbox")
    op.drop_constraint(op.f("fk_outbox_city_id_city"), "outbox", type_="foreignkey")
    op.drop_column("outbox", "city_id")
