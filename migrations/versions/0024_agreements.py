"""Facilities, figures of capacity, service agreements, deductions, determinations on capacity.

Revision: 0024, after 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    _facilities()
    _agreements()
    op.create_table(
        "capacity_determination",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("city"),
        _text("applicant"),
        sa.Column("asked", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("ledger", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        _text("finding"),
        _text("why"),
        _text("by"),
        _now("at"),
        *_keys("capacity_determination", "city"),
    )
    for table, columns in _INDEXED.items():
        for column in columns:
            op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def _facilities() -> None:
    op.create_table(
        "facility",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("city"),
        _text("kind"),
        _text("name"),
        _text("entered_by"),
        _now("entered_at"),
        *_keys("facility", "city"),
        sa.UniqueConstraint("city_id", "name", name=op.f("uq_facility_city_id_name")),
    )
    op.create_table(
        "capacity_figure",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("city"),
        _ref("facility", nullable=True),
        _text("what"),
        _text("parameter"),
        _text("value"),
        _text("document"),
        _text("paper"),
        sa.Column("dated", sa.Date(), nullable=True),
        _text("reserved_for"),
        _text("entered_by"),
        _now("entered_at"),
        _text("withdrawn_by", nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        _text("withdrawn_why", nullable=True),
        *_keys("capacity_figure", "city", "facility"),
    )
    op.create_table(
        "governing_note",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("city"),
        _ref("facility", nullable=True),
        _text("parameter"),
        _ref("capacity_figure", nullable=True),
        _text("why"),
        _text("by"),
        _now("at"),
        *_keys("governing_note", "city", "facility", "capacity_figure"),
    )


def _agreements() -> None:
    op.create_table(
        "service_agreement",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("industrial_user"),
        sa.Column("since", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=True),
        _text("capital_percent"),
        _text("conditions"),
        _text("document"),
        _text("sha256", nullable=True),
        sa.Column("file", sa.LargeBinary(), nullable=True),
        _text("entered_by"),
        _now("entered_at"),
        sa.Column("signed_on", sa.Date(), nullable=True),
        _text("signed_by", nullable=True),
        sa.Column("released_on", sa.Date(), nullable=True),
        _text("released_by", nullable=True),
        _text("released_why", nullable=True),
        sa.Column("told_on", sa.Date(), nullable=True),
        sa.CheckConstraint("until > since", name=op.f("ck_service_agreement_ends_after_it_began")),
        *_keys("service_agreement", "industrial_user"),
    )
    op.create_table(
        "sanitary_deduction",
        sa.Column("id", sa.Integer(), nullable=False),
        _ref("industrial_user"),
        sa.Column("since", sa.Date(), nullable=False),
        _text("gpd"),
        _text("basis"),
        _text("entered_by"),
        _now("entered_at"),
        *_keys("sanitary_deduction", "industrial_user"),
    )


_INDEXED = {
    "facility": ("city_id",),
    "capacity_figure": ("city_id", "facility_id"),
    "governing_note": ("city_id", "facility_id", "capacity_figure_id"),
    "service_agreement": ("industrial_user_id",),
    "sanitary_deduction": ("industrial_user_id",),
    "capacity_determination": ("city_id",),
}


def _ref(to: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(f"{to}_id", sa.Integer(), nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)


def _keys(table: str, *refs: str) -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        *(
            sa.ForeignKeyConstraint(
                [f"{to}_id"], [f"{to}.id"], name=op.f(f"fk_{table}_{to}_id_{to}")
            )
            for to in refs
        ),
    ]


def downgrade() -> None:
    """Back."""
    for table in (
        "capacity_determination",
        "sanitary_deduction",
        "service_agreement",
        "governing_note",
        "capacity_figure",
        "facility",
    ):
        op.drop_table(table)
