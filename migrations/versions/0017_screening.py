"""Spans that screening flagged, corrected readings, and determinations by people.

Revision: 0017, after 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


WORDS = ("correction", "determination", "act")
"""What people said: a later word stands beside it, none is changed or taken away."""
REFUSE = """
CREATE FUNCTION said_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what people said stays on record: % of % is refused',
        lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""


def _keep_words() -> None:
    op.execute(REFUSE)
    for table in WORDS:
        op.execute(
            f"CREATE TRIGGER {table}_rows_stay BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION said_refuses()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_table_stays BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION said_refuses()"
        )


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "flagged_span",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("flag", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.SmallInteger(), nullable=False),
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column("ruleset", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("channel_id", "since", name=op.f("pk_flagged_span")),
    )
    op.create_table(
        "correction",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("quality", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.CheckConstraint("value <> 'NaN'::float8", name=op.f("ck_correction_no_nan")),
        sa.PrimaryKeyConstraint("channel_id", "read_at", "version", name=op.f("pk_correction")),
    )
    op.create_table(
        "determination",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("evidence_name", sa.Text(), nullable=True),
        sa.Column("evidence_sha256", sa.Text(), nullable=True),
        sa.Column("evidence", sa.LargeBinary(), nullable=True),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_determination_channel_id_channel")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_determination_person_id_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_determination")),
    )
    op.create_index("ix_determination_channel_id", "determination", ["channel_id"])
    op.create_index("ix_determination_person_id", "determination", ["person_id"])
    _keep_words()


def downgrade() -> None:
    """Back."""
    op.drop_table("determination")
    op.drop_table("correction")
    op.execute("DROP TRIGGER act_rows_stay ON act")
    op.execute("DROP TRIGGER act_table_stays ON act")
    op.execute("DROP FUNCTION said_refuses()")
    op.drop_table("flagged_span")
