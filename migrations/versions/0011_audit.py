"""The log of what people changed, each row hashed with the one before.

Revision: 0011, after 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

REFUSE = """
CREATE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log only grows: % is refused', lower(TG_OP)
        USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""
ROWS = """
CREATE TRIGGER audit_rows_stay BEFORE UPDATE OR DELETE ON audit
FOR EACH ROW EXECUTE FUNCTION audit_refuses()
"""
TABLE = """
CREATE TRIGGER audit_table_stays BEFORE TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_refuses()
"""


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sa.UniqueConstraint("previous", name=op.f("uq_audit_previous")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"])
    op.execute(REFUSE)
    op.execute(ROWS)
    op.execute(TABLE)


def downgrade() -> None:
    """Back."""
    op.drop_table("audit")
    op.execute("DROP FUNCTION audit_refuses()")
