"""Windows in which an instrument's readings do not count, as people declared them.

Revision: 0012, after 0011
"""

from __future__ import annotations

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""


def downgrade() -> None:
    """Back."""
