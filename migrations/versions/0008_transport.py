"""How a gateway is spoken to.

Revision: 0008, after 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
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
