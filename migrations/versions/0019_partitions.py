"""Months of readings on a plain server, the columnstore where there is one, editions seen.

Revision: 0019, after 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from compliance.records import timescale

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "edition_seen",
        sa.Column("edition", sa.Text(), nullable=False),
        sa.Column(
            "first_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column(
            "last_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("edition", name=op.f("pk_edition_seen")),
    )
    op.execute(timescale.partitioned_sql())
    op.execute(timescale.columnstore_sql())


def downgrade() -> None:
    """Back."""
    op.execute(timescale.unpartitioned_sql())
    op.drop_table("edition_seen")
