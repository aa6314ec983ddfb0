"""States of the fold at full hours; everything is folded anew once, by the new states.

Revision: 0015, after 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_ALL_AGAIN = """
INSERT INTO dirty (channels, since, until, why)
SELECT array_agg(id), '1970-01-01+00', now(), 'upgrade' FROM channel HAVING count(*) > 0
"""


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "fold_hour",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", postgresql.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("rule_id", "channel_id", "hour", name=op.f("pk_fold_hour")),
    )
    op.execute("DELETE FROM fold_state")
    op.execute(_ALL_AGAIN)


def downgrade() -> None:
    """Back."""
    op.drop_table("fold_hour")
