"""Records schedules of cities, holds, and what was destroyed under a schedule.

Revision: 0018, after 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

REFUSE = """
CREATE FUNCTION destruction_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'records of destruction only grow: % is refused', lower(TG_OP)
        USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""
ROWS = """
CREATE TRIGGER destruction_rows_stay BEFORE UPDATE OR DELETE ON destruction
FOR EACH ROW EXECUTE FUNCTION destruction_refuses()
"""
TABLE = """
CREATE TRIGGER destruction_table_stays BEFORE TRUNCATE ON destruction
FOR EACH STATEMENT EXECUTE FUNCTION destruction_refuses()
"""


def upgrade() -> None:
    """Forward."""
    _schedules()
    _holds()
    _destructions()


def _at(name: str, *, now: bool = False, nullable: bool = False) -> sa.Column[object]:
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def _ref(table: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [f"{to}_id"], [f"{to}.id"], name=op.f(f"fk_{table}_{to}_id_{to}")
    )


def _schedules() -> None:
    op.create_table(
        "records_schedule",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        sa.Column("adopted_on", sa.Date(), nullable=False),
        sa.Column("adopted_by", sa.Text(), nullable=False),
        sa.Column("lines", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("loaded_by", sa.Text(), nullable=False),
        _at("loaded_at", now=True),
        _ref("records_schedule", "city"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_records_schedule")),
    )
    op.create_index(op.f("ix_records_schedule_city_id"), "records_schedule", ["city_id"])


def _holds() -> None:
    narrower = ("industrial_user", "monitoring_point", "channel")
    op.create_table(
        "hold",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        *(sa.Column(f"{one}_id", sa.Integer(), nullable=True) for one in narrower),
        _at("since", nullable=True),
        _at("until", nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_by", sa.Text(), nullable=False),
        _at("placed_at", now=True),
        sa.Column("lifted_by", sa.Text(), nullable=True),
        _at("lifted_at", nullable=True),
        sa.Column("lifted_why", sa.Text(), nullable=True),
        sa.CheckConstraint("until > since", name=op.f("ck_hold_ends_after_it_began")),
        sa.CheckConstraint(
            "num_nonnulls(industrial_user_id, monitoring_point_id, channel_id) <= 1",
            name=op.f("ck_hold_one_scope"),
        ),
        *(_ref("hold", one) for one in ("city", *narrower)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hold")),
    )
    for one in ("city", *narrower):
        op.create_index(op.f(f"ix_hold_{one}_id"), "hold", [f"{one}_id"])


def _destructions() -> None:
    op.create_table(
        "destruction",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        _at("closed_from"),
        _at("closed_until"),
        _at("since"),
        _at("until"),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("records_schedule_id", sa.Integer(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.Column("years", sa.Integer(), nullable=False),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        _at("at", now=True),
        _ref("destruction", "channel"),
        _ref("destruction", "records_schedule"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_destruction")),
        sa.UniqueConstraint(
            "channel_id", "closed_from", name=op.f("uq_destruction_channel_id_closed_from")
        ),
    )
    op.create_index("ix_destruction_closed_until", "destruction", ["closed_until"])
    op.create_index(
        op.f("ix_destruction_records_schedule_id"), "destruction", ["records_schedule_id"]
    )
    for statement in (REFUSE, ROWS, TABLE):
        op.execute(statement)


def downgrade() -> None:
    """Back."""
    for table in ("destruction", "hold", "records_schedule"):
        op.drop_table(table)
    op.execute("DROP FUNCTION destruction_refuses()")
