"""People and sessions.

Revision: 0002, after 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "signin_failure",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signin_failure")),
    )
    op.create_index(op.f("ix_signin_failure_login"), "signin_failure", ["login"], unique=False)
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("office", sa.Text(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=True),
        sa.Column("industrial_user_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_person_city_id_city")),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_person_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("login", name=op.f("uq_person_login")),
    )
    op.create_index(op.f("ix_person_city_id"), "person", ["city_id"], unique=False)
    op.create_index(
        op.f("ix_person_industrial_user_id"), "person", ["industrial_user_id"], unique=False
    )
    op.create_table(
        "idempotency_key",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_idempotency_key_person_id_person")
        ),
        sa.PrimaryKeyConstraint("person_id", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_table(
        "session",
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column(
            "seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_session_person_id_person")
        ),
        sa.PrimaryKeyConstraint("token_sha256", name=op.f("pk_session")),
    )
    op.create_index(op.f("ix_session_person_id"), "session", ["person_id"], unique=False)


def downgrade() -> None:
    """Back."""
    op.drop_index(op.f("ix_session_person_id"), table_name="session")
    op.drop_table("session")
    op.drop_table("idempotency_key")
    op.drop_index(op.f("ix_person_industrial_user_id"), table_name="person")
    op.drop_index(op.f("ix_person_city_id"), table_name="person")
    op.drop_table("person")
    op.drop_index(op.f("ix_signin_failure_login"), table_name="signin_failure")
    op.drop_table("signin_failure")
