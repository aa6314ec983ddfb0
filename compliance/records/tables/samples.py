"""Uploads, samples and results of laboratories."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    Integer,
    LargeBinary,
    Numeric,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from compliance.records.tables.common import at, metadata, pk, ref

upload = Table(
    "upload",
    metadata,
    pk(),
    ref("industrial_user"),
    ref("person", nullable=True),
    Column("filename", Text, nullable=False),  # as given: shown, never used as a path
    Column("sha256", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    at("received_at", now=True),
    UniqueConstraint("industrial_user_id", "sha256"),
)
sample = Table(
    "sample",
    metadata,
    pk(),
    ref("monitoring_point"),
    ref("upload", nullable=True),
    Column("label", Text, nullable=False),  # the laboratory's number
    Column("sample_type", Text, nullable=False),
    Column("taken_by", Text, nullable=False),  # industrial_user, control_authority, city
    Column("laboratory", Text),
    at("sampled_from"),
    at("sampled_to"),
    Column("day", Date),  # the civil day it belongs to, as found when it was received
    Column("timed", Boolean, nullable=False, server_default=text("true")),  # false: days only
    UniqueConstraint("monitoring_point_id", "label", "sampled_to"),
)
result = Table(
    "result",
    metadata,
    pk(),
    ref("sample"),
    Column("parameter", Text, nullable=False),
    Column("qualifier", Text, nullable=False),
    Column("value", Numeric, nullable=False),  # of a non-detect: the limit it lies below
    Column("written", Text, nullable=False),  # the number as the file wrote it
    Column("unit", Text, nullable=False),
    Column("mdl", Numeric),
    Column("rl", Numeric),
    Column("method", Text),
    Column("row", Integer),
    UniqueConstraint("sample_id", "parameter"),
)
