"""Cities, users, points, instruments.

Revision: 0001, after nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.create_table(
        "city",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("rulebooks", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("control_authority", sa.Text(), nullable=False),
        sa.Column("ordinance_authority", sa.Text(), nullable=False),
        sa.Column("billing_authority", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_city")),
        sa.UniqueConstraint("slug", name=op.f("uq_city_slug")),
    )
    op.create_table(
        "gateway",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gateway")),
        sa.UniqueConstraint("host", "port", name=op.f("uq_gateway_host_port")),
        sa.UniqueConstraint("name", name=op.f("uq_gateway_name")),
    )
    op.create_table(
        "register_map",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("published_by", sa.Text(), nullable=False),
        sa.Column(
            "published_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("name", "sha256", name=op.f("pk_register_map")),
    )
    op.create_table(
        "industrial_user",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("makes", sa.Text(), nullable=False),
        sa.Column("is_significant", sa.Boolean(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("water_meter", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["city_id"], ["city.id"], name=op.f("fk_industrial_user_city_id_city")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_industrial_user")),
        sa.UniqueConstraint("slug", name=op.f("uq_industrial_user_slug")),
    )
    op.create_index(
        op.f("ix_industrial_user_city_id"), "industrial_user", ["city_id"], unique=False
    )
    op.create_table(
        "plant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("average_design", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_plant_city_id_city")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plant")),
    )
    op.create_index(op.f("ix_plant_city_id"), "plant", ["city_id"], unique=False)
    op.create_table(
        "monitoring_point",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_monitoring_point_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitoring_point")),
        sa.UniqueConstraint("code", name=op.f("uq_monitoring_point_code")),
    )
    op.create_index(
        op.f("ix_monitoring_point_industrial_user_id"),
        "monitoring_point",
        ["industrial_user_id"],
        unique=False,
    )
    op.create_table(
        "instrument",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("gateway_id", sa.Integer(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("unit_id", sa.Integer(), nullable=False),
        sa.Column("map_name", sa.Text(), nullable=False),
        sa.Column("byte_order", sa.Text(), nullable=True),
        sa.Column("confirmed_by", sa.Text(), nullable=True),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("confirmed_how", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["gateway_id"], ["gateway.id"], name=op.f("fk_instrument_gateway_id_gateway")
        ),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_instrument_monitoring_point_id_monitoring_point"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instrument")),
        sa.UniqueConstraint("gateway_id", "unit_id", name=op.f("uq_instrument_gateway_id_unit_id")),
    )
    op.create_index(op.f("ix_instrument_gateway_id"), "instrument", ["gateway_id"], unique=False)
    op.create_index(
        op.f("ix_instrument_monitoring_point_id"),
        "instrument",
        ["monitoring_point_id"],
        unique=False,
    )
    op.create_table(
        "channel",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("instrument_id", sa.Integer(), nullable=True),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("parameter", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("resolution", sa.Text(), nullable=False),
        sa.Column("span_low", sa.Double(), nullable=True),
        sa.Column("span_high", sa.Double(), nullable=True),
        sa.Column("modulus", sa.Text(), nullable=True),
        sa.Column("is_read", sa.Boolean(), server_default="true", nullable=False),
        sa.ForeignKeyConstraint(
            ["instrument_id"], ["instrument.id"], name=op.f("fk_channel_instrument_id_instrument")
        ),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_channel_monitoring_point_id_monitoring_point"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channel")),
        sa.UniqueConstraint("instrument_id", "entry", name=op.f("uq_channel_instrument_id_entry")),
    )
    op.create_index(op.f("ix_channel_instrument_id"), "channel", ["instrument_id"], unique=False)
    op.create_index(
        op.f("ix_channel_monitoring_point_id"), "channel", ["monitoring_point_id"], unique=False
    )
    op.create_table(
        "calibration",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("calibrated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("standards", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("drift", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_calibration_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibration")),
    )
    op.create_index(op.f("ix_calibration_channel_id"), "calibration", ["channel_id"], unique=False)
    op.create_table(
        "channel_cadence",
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("interval_ms", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_channel_cadence_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("channel_id", "since", name=op.f("pk_channel_cadence")),
    )
    op.create_table(
        "commissioning",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("frequency", sa.Text(), nullable=False),
        sa.Column("approved_by", sa.Text(), nullable=False),
        sa.Column("approved_on", sa.Date(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("calibration_days", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"], ["channel.id"], name=op.f("fk_commissioning_channel_id_channel")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commissioning")),
    )
    op.create_index(
        op.f("ix_commissioning_channel_id"), "commissioning", ["channel_id"], unique=False
    )


def downgrade() -> None:
    """Back."""
    op.drop_index(op.f("ix_commissioning_channel_id"), table_name="commissioning")
    op.drop_table("commissioning")
    op.drop_table("channel_cadence")
    op.drop_index(op.f("ix_calibration_channel_id"), table_name="calibration")
    op.drop_table("calibration")
    op.drop_index(op.f("ix_channel_monitoring_point_id"), table_name="channel")
    op.drop_index(op.f("ix_channel_instrument_id"), table_name="channel")
    op.drop_table("channel")
    op.drop_index(op.f("ix_instrument_monitoring_point_id"), table_name="instrument")
    op.drop_index(op.f("ix_instrument_gateway_id"), table_name="instrument")
    op.drop_table("instrument")
    op.drop_index(op.f("ix_monitoring_point_industrial_user_id"), table_name="monitoring_point")
    op.drop_table("monitoring_point")
    op.drop_index(op.f("ix_plant_city_id"), table_name="plant")
    op.drop_table("plant")
    op.drop_index(op.f("ix_industrial_user_city_id"), table_name="industrial_user")
    op.drop_table("industrial_user")
    op.drop_table("register_map")
    op.drop_table("gateway")
    op.drop_table("city")
