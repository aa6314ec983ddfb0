"""Composites of proportional samplers, and the tool that may enable one.

Revision: 0014, after 0013
"""

from __future__ import annotations

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""


def downgrade() -> None:
    """Back."""
