"""What control authorities determined of significant noncompliance."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Date, LargeBinary, Table, Text

from compliance.records.tables.common import at, metadata, pk, ref

snc_determination = Table(
    "snc_determination",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("criterion", Text, nullable=False),  # A to H
    Column("quarter_end", Date, nullable=False),  # the last day of the half-year
    Column("is_snc", Boolean, nullable=False),
    Column("authority", Text, nullable=False),
    Column("decided_on", Date, nullable=False),
    Column("signed_by", Text, nullable=False),  # who decided there
    Column("reference", Text, nullable=False),  # the letter or the minutes
    Column("words", Text, nullable=False),
    Column("point", Text),
    Column("parameter", Text),
    Column("document_name", Text),
    Column("document_sha256", Text),
    Column("document", LargeBinary),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    at("withdrawn_at", nullable=True),  # a withdrawn one stays on record
    Column("withdrawn_by", Text),
    Column("withdrawn_why", Text),
    CheckConstraint("criterion IN ('A','B','C','D','E','F','G','H')", name="is_a_criterion"),
)
