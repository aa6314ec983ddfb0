"""Samples and results.

Revision: 0004, after 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "upload",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_upload_industrial_user_id_industrial_user"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_upload_person_id_person")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
        sa.UniqueConstraint(
            "industrial_user_id", "sha256", name=op.f("uq_upload_industrial_user_id_sha256")
        ),
    )
    op.create_index(
        op.f("ix_upload_industrial_user_id"), "upload", ["industrial_user_id"], unique=False
    )
    op.create_index(op.f("ix_upload_person_id"), "upload", ["person_id"], unique=False)
    op.create_table(
        "sample",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("upload_id", sa.Integer(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("sample_type", sa.Text(), nullable=False),
        sa.Column("taken_by", sa.Text(), nullable=False),
        sa.Column("laboratory", sa.Text(), nullable=True),
        sa.Column("sampled_from", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sampled_to", sa.DateTime(timezone=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=True),
        sa.Column("timed", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_sample_monitoring_point_id_monitoring_point"),
        ),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_sample_upload_id_upload")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sample")),
        sa.UniqueConstraint(
            "monitoring_point_id",
            "label",
            "sampled_to",
            name=op.f("uq_sample_monitoring_point_id_label_sampled_to"),
        ),
    )
    op.create_index(
        op.f("ix_sample_monitoring_point_id"), "sample", ["monitoring_point_id"], unique=False
    )
    op.create_index(op.f("ix_sample_upload_id"), "sample", ["upload_id"], unique=False)
    op.create_table(
        "result",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sample_id", sa.Integer(), nullable=False),
        sa.Column("parameter", sa.Text(), nullable=False),
        sa.Column("qualifier", sa.Text(), nullable=False),
        sa.Column("value", sa.Numeric(), nullable=False),
        sa.Column("written", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("mdl", sa.Numeric(), nullable=True),
        sa.Column("rl", sa.Numeric(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("row", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["sample_id"], ["sample.id"], name=op.f("fk_result_sample_id_sample")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_result")),
        sa.UniqueConstraint("sample_id", "parameter", name=op.f("uq_result_sample_id_parameter")),
    )
    op.create_index(op.f("ix_result_sample_id"), "result", ["sample_id"], unique=False)


def downgrade() -> None:
    """Back."""
    op.drop_index(op.f("ix_result_sample_id"), table_name="result")
    op.drop_table("result")
    op.drop_index(op.f("ix_sample_upload_id"), table_name="sample")
    op.drop_index(op.f("ix_sample_monitoring_point_id"), table_name="sample")
    op.drop_table("sample")
    op.drop_index(op.f("ix_upload_person_id"), table_name="upload")
    op.drop_index(op.f("ix_upload_industrial_user_id"), table_name="upload")
    op.drop_table("upload")
