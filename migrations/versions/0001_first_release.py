"""first release

Revision: 0001, after
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from compliance.records import timescale

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forward."""
    op.execute(timescale.extension_sql())
    op.create_table(
        "batch",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch")),
        sa.UniqueConstraint("worker", "sequence", name=op.f("uq_batch_worker_sequence")),
    )
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
        "dirty",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("batch_id", sa.BigInteger(), nullable=True),
        sa.Column("channels", sa.ARRAY(sa.Integer()), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dirty")),
    )
    op.create_table(
        "fault",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fault")),
    )
    op.create_table(
        "fold_state",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("folded_to", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("rule_id", "channel_id", name=op.f("pk_fold_state")),
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
        "heartbeat",
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("process", name=op.f("pk_heartbeat")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("message_id", name=op.f("uq_outbox_message_id")),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
    )
    op.create_table(
        "reading",
        sa.Column("channel_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("quality", sa.SmallInteger(), nullable=False),
        sa.Column("words", sa.BigInteger(), nullable=True),
        sa.Column("offset_ms", sa.Integer(), nullable=False),
        sa.Column("device_offset_ms", sa.Integer(), nullable=True),
        sa.Column("batch_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("value <> 'NaN'::float8", name=op.f("ck_reading_no_nan")),
        sa.PrimaryKeyConstraint("channel_id", "read_at", name=op.f("pk_reading")),
        info={"hypertable": "read_at"},
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
        "endpoint",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("city_id", sa.Integer(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["city_id"], ["city.id"], name=op.f("fk_endpoint_city_id_city")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint")),
    )
    op.create_index(op.f("ix_endpoint_city_id"), "endpoint", ["city_id"], unique=False)
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
        "bill",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("period", postgresql.DATERANGE(), nullable=False),
        sa.Column("tariff", sa.Text(), nullable=False),
        sa.Column("tariff_sha256", sa.Text(), nullable=False),
        sa.Column("total", sa.Numeric(precision=14, scale=2), nullable=False),
        sa.Column("due_on", sa.Date(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("notes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        postgresql.ExcludeConstraint(
            (sa.text("int4range(industrial_user_id, industrial_user_id, '[]')"), "&&"),
            (sa.column("period"), "&&"),
            using="gist",
            name="one_bill_for_a_day",
        ),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_bill_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bill")),
        sa.UniqueConstraint("number", name=op.f("uq_bill_number")),
    )
    op.create_index(
        op.f("ix_bill_industrial_user_id"), "bill", ["industrial_user_id"], unique=False
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("outbox_id", sa.BigInteger(), nullable=False),
        sa.Column("endpoint_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "next_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"], ["endpoint.id"], name=op.f("fk_delivery_endpoint_id_endpoint")
        ),
        sa.ForeignKeyConstraint(
            ["outbox_id"], ["outbox.id"], name=op.f("fk_delivery_outbox_id_outbox")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint(
            "outbox_id", "endpoint_id", name=op.f("uq_delivery_outbox_id_endpoint_id")
        ),
    )
    op.create_index(
        "ix_delivery_due",
        "delivery",
        ["next_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(op.f("ix_delivery_endpoint_id"), "delivery", ["endpoint_id"], unique=False)
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
        "water_use",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("industrial_user_id", sa.Integer(), nullable=False),
        sa.Column("period_from", sa.Date(), nullable=False),
        sa.Column("period_to", sa.Date(), nullable=False),
        sa.Column("gallons", sa.Numeric(), nullable=False),
        sa.Column("reads", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["industrial_user_id"],
            ["industrial_user.id"],
            name=op.f("fk_water_use_industrial_user_id_industrial_user"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_water_use")),
        sa.UniqueConstraint(
            "industrial_user_id",
            "period_from",
            name=op.f("uq_water_use_industrial_user_id_period_from"),
        ),
    )
    op.create_index(
        op.f("ix_water_use_industrial_user_id"), "water_use", ["industrial_user_id"], unique=False
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
        "bill_line",
        sa.Column("bill_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("rate", sa.Text(), nullable=False),
        sa.Column("unrounded", sa.Text(), nullable=False),
        sa.Column("amount", sa.Numeric(precision=14, scale=2), nullable=False),
        sa.Column("working", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sources", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["bill_id"], ["bill.id"], name=op.f("fk_bill_line_bill_id_bill")),
        sa.PrimaryKeyConstraint("bill_id", "position", name=op.f("pk_bill_line")),
    )
    op.create_table(
        "day_fact",
        sa.Column("monitoring_point_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("flow_gal", sa.Numeric(), nullable=True),
        sa.Column("sanitary_gal", sa.Numeric(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitoring_point_id"],
            ["monitoring_point.id"],
            name=op.f("fk_day_fact_monitoring_point_id_monitoring_point"),
        ),
        sa.PrimaryKeyConstraint("monitoring_point_id", "day", name=op.f("pk_day_fact")),
    )
    op.create_table(
        "delivery_attempt",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("delivery_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=False),
        sa.Column("headers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["delivery.id"], name=op.f("fk_delivery_attempt_delivery_id_delivery")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_index(
        op.f("ix_delivery_attempt_delivery_id"), "delivery_attempt", ["delivery_id"], unique=False
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
    op.execute(timescale.hypertable_sql("reading", "read_at"))


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
    op.drop_index(op.f("ix_result_sample_id"), table_name="result")
    op.drop_table("result")
    op.drop_index(op.f("ix_commissioning_channel_id"), table_name="commissioning")
    op.drop_table("commissioning")
    op.drop_table("channel_cadence")
    op.drop_index(op.f("ix_calibration_channel_id"), table_name="calibration")
    op.drop_table("calibration")
    op.drop_index(op.f("ix_sample_upload_id"), table_name="sample")
    op.drop_index(op.f("ix_sample_monitoring_point_id"), table_name="sample")
    op.drop_table("sample")
    op.drop_index(op.f("ix_channel_monitoring_point_id"), table_name="channel")
    op.drop_index(op.f("ix_channel_instrument_id"), table_name="channel")
    op.drop_table("channel")
    op.drop_index(op.f("ix_upload_person_id"), table_name="upload")
    op.drop_index(op.f("ix_upload_industrial_user_id"), table_name="upload")
    op.drop_table("upload")
    op.drop_index(op.f("ix_session_person_id"), table_name="session")
    op.drop_table("session")
    op.drop_index(op.f("ix_instrument_monitoring_point_id"), table_name="instrument")
    op.drop_index(op.f("ix_instrument_gateway_id"), table_name="instrument")
    op.drop_table("instrument")
    op.drop_table("idempotency_key")
    op.drop_index(op.f("ix_delivery_attempt_delivery_id"), table_name="delivery_attempt")
    op.drop_table("delivery_attempt")
    op.drop_table("day_fact")
    op.drop_table("bill_line")
    op.drop_index("ix_act_subject", table_name="act")
    op.drop_index(op.f("ix_act_person_id"), table_name="act")
    op.drop_table("act")
    op.drop_index(op.f("ix_water_use_industrial_user_id"), table_name="water_use")
    op.drop_table("water_use")
    op.drop_index(op.f("ix_trigger_fact_industrial_user_id"), table_name="trigger_fact")
    op.drop_table("trigger_fact")
    op.drop_index(op.f("ix_person_industrial_user_id"), table_name="person")
    op.drop_index(op.f("ix_person_city_id"), table_name="person")
    op.drop_table("person")
    op.drop_index(op.f("ix_monitoring_point_industrial_user_id"), table_name="monitoring_point")
    op.drop_table("monitoring_point")
    op.drop_index(op.f("ix_delivery_endpoint_id"), table_name="delivery")
    op.drop_index(
        "ix_delivery_due", table_name="delivery", postgresql_where=sa.text("state = 'waiting'")
    )
    op.drop_table("delivery")
    op.drop_index(op.f("ix_bill_industrial_user_id"), table_name="bill")
    op.drop_table("bill")
    op.drop_index(op.f("ix_plant_city_id"), table_name="plant")
    op.drop_table("plant")
    op.drop_index(op.f("ix_industrial_user_city_id"), table_name="industrial_user")
    op.drop_table("industrial_user")
    op.drop_index(op.f("ix_endpoint_city_id"), table_name="endpoint")
    op.drop_table("endpoint")
    op.drop_index(op.f("ix_signin_failure_login"), table_name="signin_failure")
    op.drop_table("signin_failure")
    op.drop_table("register_map")
    op.drop_table("reading")
    op.drop_table("quarantine")
    op.drop_table("outbox")
    op.drop_table("heartbeat")
    op.drop_table("gateway")
    op.drop_table("fold_state")
    op.drop_table("fault")
    op.drop_table("dirty")
    op.drop_table("city")
    op.drop_table("batch")
