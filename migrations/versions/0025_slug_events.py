"""Notes and decisions on possible slugs.

Revision: 0025, after 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "slug_note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("exceedance_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("happened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("noted_by", sa.Text(), nullable=False),
        sa.Column(
            "noted_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint(
            "kind IN ('notice', 'follow_up', 'phone', 'effect')",
            name=op.f("ck_slug_note_known_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["exceedance_id"], ["exceedance.id"], name=op.f("fk_slug_note_exceedance_id_exceedance")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slug_note")),
    )
    op.create_index(op.f("ix_slug_note_exceedance_id"), "slug_note", ["exceedance_id"])
    op.create_table(
        "slug_decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("exceedance_id", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("elements", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("citation", sa.Text(), nullable=True),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("capacity", sa.Text(), nullable=False),
        sa.Column(
            "decided_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.CheckConstraint(
            "outcome IN ('slug', 'explained')", name=op.f("ck_slug_decision_known_outcome")
        ),
        sa.ForeignKeyConstraint(
            ["exceedance_id"],
            ["exceedance.id"],
            name=op.f("fk_slug_decision_exceedance_id_exceedance"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_slug_decision_person_id_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slug_decision")),
    )
    for name in ("exceedance_id", "person_id"):
        op.create_index(op.f(f"ix_slug_decision_{name}"), "slug_decision", [name])


def downgrade() -> None:
    """Back."""
    op.drop_table("slug_decision")
    op.drop_table("slug_note")
