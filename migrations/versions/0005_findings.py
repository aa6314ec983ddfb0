"""Facts, detections, violations.

Revision: 0005, after 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "fold_state",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("folded_to", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("rule_id", "channel_id", name=op.f("pk_fold_state")),
    )
    op.create_table(
        "trigger_fact",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("as_of", sa.Date(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("share", sa.Text(), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "judged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_trigger_fact_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trigger_fact")),
        sa.UniqueConstraint(
            "industrial_user_id",
            "rule_id",
            "as_of",
            name=op.f("uq_trigger_fact_industrial_user_id_rule_id_as_of"),
        ),
    )
    op.create_index(
        op.f("ix_trigger_fact_industrial_user_id"),
        "trigger_fact",
        ["industrial_user_id"],
        unique=False,
    )
    op.create_table(
        "act",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_act_person_id_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_act")),
    )
    op.create_index(op.f("ix_act_person_id"), "act", ["person_id"], unique=False)
    op.create_index("ix_act_subject", "act", ["subject"], unique=False)
    op.create_table(
        "exceedance",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=True),
        sa.Column("result_id", sa.Integer(), nullable=True),
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("effective", sa.Date(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("parameter", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("starts_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("seconds_beyond", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("worst", sa.Text(), nullable=False),
        sa.Column("worst_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("limit", sa.Text(), nullable=False),
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column("open_ended", sa.Boolean(), nullable=False),
        sa.Column("review", sa.Boolean(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("says", sa.Text(), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("evidence", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "judged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("judged_by", sa.Text(), nullable=False),
        sa.Column("superseded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("superseded_why", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_exceedance_channel_id_channel")
        ),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_exceedance_monitoring_point_id_monitoring_point"),
        ),
        sa.ForeignKeyConstraint(
            ["result_id"], ["result.id"], name=op.f("fk_exceedance_result_id_result")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exceedance")),
    )
    op.create_index(op.f("ix_exceedance_channel_id"), "exceedance", ["channel_id"], unique=False)
    op.create_index(
        "ix_exceedance_channel_rule_starts",
        "exceedance",
        ["channel_id", "rule_id", "starts_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_exceedance_monitoring_point_id"),
        "exceedance",
        ["monitoring_point_id"],
        unique=False,
    )
    op.create_index(op.f("ix_exceedance_result_id"), "exceedance", ["result_id"], unique=False)
    op.create_table(
        "detection",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("exceedance_id", sa.Text(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("differs", sa.Text(), nullable=True),
        sa.Column(
            "detected_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["exceedance_id"], ["exceedance.id"], name=op.f("fk_detection_exceedance_id_exceedance")
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_detection_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_detection")),
        sa.UniqueConstraint("exceedance_id", name=op.f("uq_detection_exceedance_id")),
    )
    op.create_index(
        op.f("ix_detection_industrial_user_id"), "detection", ["industrial_user_id"], unique=False
    )
    op.create_table(
        "exceedance_history",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("exceedance_id", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("was", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["exceedance_id"],
            ["exceedance.id"],
            name=op.f("fk_exceedance_history_exceedance_id_exceedance"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exceedance_history")),
    )
    op.create_index(
        op.f("ix_exceedance_history_exceedance_id"),
        "exceedance_history",
        ["exceedance_id"],
        unique=False,
    )
    op.create_table(
        "violation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("detection_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("opened_by", sa.Integer(), nullable=False),
        sa.Column("capacity", sa.Text(), nullable=False),
        sa.Column(
            "opened_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["detection_id"], ["detection.id"], name=op.f("fk_violation_detection_id_detection")
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_violation_industrial_user_id_industrial_user"),
        ),
        sa.ForeignKeyConstraint(
            ["opened_by"], ["person.id"], name=op.f("fk_violation_opened_by_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_violation")),
        sa.UniqueConstraint("detection_id", name=op.f("uq_violation_detection_id")),
        sa.UniqueConstraint("number", name=op.f("uq_violation_number")),
    )
    op.create_index(op.f("ix_violation_detection_id"), "violation", ["detection_id"], unique=False)
    op.create_index(
        op.f("ix_violation_industrial_user_id"), "violation", ["industrial_user_id"], unique=False
    )


def downgrade() -> None:
    """Back."""
    op.drop_index(op.f("ix_violation_industrial_user_id"), table_name="violation")
    op.drop_index(op.f("ix_violation_detection_id"), table_name="violation")
    op.drop_table("violation")
    op.drop_index(op.f("ix_exceedance_history_exceedance_id"), table_name="exceedance_history")
    op.drop_table("exceedance_history")
    op.drop_index(op.f("ix_detection_industrial_user_id"), table_name="detection")
    op.drop_table("detection")
    op.drop_index(op.f("ix_exceedance_result_id"), table_name="exceedance")
    op.drop_index(op.f("ix_exceedance_monitoring_point_id"), table_name="exceedance")
    op.drop_index("ix_exceedance_channel_rule_starts", table_name="exceedance")
    op.drop_index(op.f("ix_exceedance_channel_id"), table_name="exceedance")
    op.drop_table("exceedance")
    op.drop_index("ix_act_subject", table_name="act")
    op.drop_index(op.f("ix_act_person_id"), table_name="act")
    op.drop_table("act")
    op.drop_index(op.f("ix_trigger_fact_industrial_user_id"), table_name="trigger_fact")
    op.drop_table("trigger_fact")
    op.drop_table("fold_state")
