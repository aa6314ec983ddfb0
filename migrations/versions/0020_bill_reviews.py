"""Days that changed after they were billed, and channels whose silence was told.

Revision: 0020, after 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

REFUSE = """
CREATE FUNCTION bill_review_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a settled review of a bill stays as it is: % is refused', lower(TG_OP)
        USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""
SETTLED = """
CREATE TRIGGER bill_review_settled_stays BEFORE UPDATE OR DELETE ON bill_review
FOR EACH ROW WHEN (OLD.settled_at IS NOT NULL) EXECUTE FUNCTION bill_review_refuses()
"""
TABLE = """
CREATE TRIGGER bill_review_table_stays BEFORE TRUNCATE ON bill_review
FOR EACH STATEMENT EXECUTE FUNCTION bill_review_refuses()
"""
OPEN = sa.text("settled_at IS NULL")


def upgrade() -> None:
    """Forward."""
    _reviews()
    op.create_table(
        "silence",
        sa.Column("channel_id", sa.Integer(), nullable=False),
        _at("noticed_at"),
        _at("told_at", nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_silence_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("channel_id", name=op.f("pk_silence")),
    )


def _at(name: str, *, now: bool = False, nullable: bool = False) -> sa.Column[object]:
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def _ref(to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [f"{to}_id"], [f"{to}.id"], name=op.f(f"fk_bill_review_{to}_id_{to}")
    )


def _reviews() -> None:
    op.create_table(
        "bill_review",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("bill_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("was", sa.Numeric(), nullable=True),
        sa.Column("now", sa.Numeric(), nullable=True),
        sa.Column("was_working", sa.Text(), nullable=False),
        sa.Column("now_working", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        _at("opened_at", now=True),
        _at("changed_at", now=True),
        _at("settled_at", nullable=True),
        sa.Column("settled_by", sa.Text(), nullable=True),
        sa.Column("settled_why", sa.Text(), nullable=True),
        _ref("bill"),
        _ref("channel"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bill_review")),
    )
    for name in ("bill_id", "channel_id"):
        op.create_index(op.f(f"ix_bill_review_{name}"), "bill_review", [name])
    op.create_index(
        "one_open_review_of_a_day",
        "bill_review",
        ["bill_id", "channel_id", "day"],
        unique=True,
        postgresql_where=OPEN,
    )
    for statement in (REFUSE, SETTLED, TABLE):
        op.execute(statement)


def downgrade() -> None:
    """Back."""
    op.drop_table("silence")
    op.drop_table("bill_review")
    op.execute("DROP FUNCTION bill_review_refuses()")
