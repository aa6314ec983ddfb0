"""How a gateway is spoken to.

Revision: 0009, after 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.add_column(
        "gateway", sa.Column("transport", sa.Text(), server_default="tcp", nullable=False)
    )


def downgrade() -> None:
    """Back."""
    op.drop_column("gateway", "transport")
