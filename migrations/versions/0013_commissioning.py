"""Questions to instruments, answered by workers; the day from which a channel counts.

What was judged so far stays judged: a channel of a confirmed instrument counts from its first
reading on; one of an instrument that nobody compared with its display counts up to this migration.

Revision: 0013, after 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

WHAT_STANDS = """
    INSERT INTO counting (channel_id, since, until, by, how, ended_by, ended_why)
    SELECT c.id, '1970-01-01 00:00:00+00',
           CASE WHEN i.id IS NOT NULL AND i.confirmed_by IS NULL THEN now() END,
           coalesce(i.confirmed_by, 'migration 0013'),
           coalesce(i.confirmed_how, 'judged before readings had to be commissioned'),
           CASE WHEN i.id IS NOT NULL AND i.confirmed_by IS NULL THEN 'migration 0013' END,
           CASE WHEN i.id IS NOT NULL AND i.confirmed_by IS NULL
                THEN 'nobody has compared it with the display on site' END
    FROM channel c LEFT JOIN instrument i ON i.id = c.instrument_id
"""


def upgrade() -> None:
    """Forward."""
    _questions()
    _comparisons()
    _counting()
    op.execute(WHAT_STANDS)


def _questions() -> None:
    op.create_table(
        "field_question",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("asked_by", sa.Integer(), nullable=False),
        _instant("asked_at", now=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("gateway_id", sa.Integer(), nullable=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("transport", sa.Text(), nullable=False),
        sa.Column("first_unit", sa.Integer(), nullable=False),
        sa.Column("last_unit", sa.Integer(), nullable=False),
        sa.Column("map_name", sa.Text(), nullable=True),
        sa.Column("byte_order", sa.Text(), nullable=True),
        sa.Column("taken_by", sa.Text(), nullable=True),
        _instant("taken_at"),
        _instant("answered_at"),
        sa.Column("answer", postgresql.JSONB(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["asked_by"], ["person.id"], name=op.f("fk_field_question_asked_by_person")
        ),
        sa.ForeignKeyConstraint(
            ["gateway_id"],
            ["gateway.id"],
            name=op.f("fk_field_question_gateway_id_gateway"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_field_question")),
    )
    op.create_index(op.f("ix_field_question_asked_by"), "field_question", ["asked_by"])
    op.create_index(op.f("ix_field_question_gateway_id"), "field_question", ["gateway_id"])
    op.create_index(
        "ix_field_question_waiting",
        "field_question",
        ["id"],
        postgresql_where=sa.text("answered_at IS NULL"),
    )


def _comparisons() -> None:
    op.create_table(
        "comparison",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("instrument_id", sa.Integer(), nullable=False),
        sa.Column("field_question_id", sa.Integer(), nullable=False),
        _instant("compared_at", now=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("agrees", sa.Boolean(), nullable=False),
        sa.Column("byte_order", sa.Text(), nullable=True),
        sa.Column("lines", postgresql.JSONB(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["instrument_id"],
            ["instrument.id"],
            name=op.f("fk_comparison_instrument_id_instrument"),
        ),
        sa.ForeignKeyConstraint(
            ["field_question_id"],
            ["field_question.id"],
            name=op.f("fk_comparison_field_question_id_field_question"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparison")),
    )
    op.create_index(op.f("ix_comparison_instrument_id"), "comparison", ["instrument_id"])
    op.create_index(op.f("ix_comparison_field_question_id"), "comparison", ["field_question_id"])


def _counting() -> None:
    op.create_table(
        "counting",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        _instant("until"),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("read_by", postgresql.JSONB(), nullable=True),
        _instant("noted_at", now=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("ended_why", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_counting_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_counting")),
    )
    op.create_index(op.f("ix_counting_channel_id"), "counting", ["channel_id"])
    op.create_index(
        "ix_counting_open",
        "counting",
        ["channel_id"],
        unique=True,
        postgresql_where=sa.text("until IS NULL"),
    )


def _instant(name: str, *, now: bool = False) -> sa.Column[object]:
    """An aware instant; ``now``: set by the server, and never empty."""
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=not now)


def downgrade() -> None:
    """Back."""
    op.drop_table("counting")
    op.drop_table("comparison")
    op.drop_table("field_question")
