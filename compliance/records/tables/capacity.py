"""Facilities, figures of capacity, service agreements, deductions, the Director's words on them."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from compliance.records.tables.common import at, metadata, pk, ref

facility = Table(
    "facility",
    metadata,
    pk(),
    ref("city"),
    Column("kind", Text, nullable=False),  # sewer, lift station; the plant is a row of "plant"
    Column("name", Text, nullable=False),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    UniqueConstraint("city_id", "name"),
)
capacity_figure = Table(
    "capacity_figure",
    metadata,
    pk(),
    ref("city"),
    ref("facility", nullable=True),  # empty: the city's plant
    Column("what", Text, nullable=False),  # design, used, reserved
    Column("parameter", Text, nullable=False),
    Column("value", Text, nullable=False),  # MGD or lb/day, exact
    Column("document", Text, nullable=False),
    Column("paper", Text, nullable=False),  # facility plan, CMAR, WPDES fact sheet, other
    Column("dated", Date),
    Column("reserved_for", Text, nullable=False),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    Column("withdrawn_by", Text),  # a withdrawn figure stays on record
    at("withdrawn_at", nullable=True),
    Column("withdrawn_why", Text),
)
governing_note = Table(
    "governing_note",
    metadata,
    pk(),
    ref("city"),
    ref("facility", nullable=True),  # empty: the city's plant
    Column("parameter", Text, nullable=False),
    ref("capacity_figure", nullable=True),  # empty: the figure of the site document
    Column("why", Text, nullable=False),
    Column("by", Text, nullable=False),
    at("at", now=True),
)
service_agreement = Table(
    "service_agreement",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("since", Date, nullable=False),
    Column("until", Date),
    Column("capital_percent", Text, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("sha256", Text),
    Column("file", LargeBinary),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
    Column("signed_on", Date),
    Column("signed_by", Text),  # who recorded it
    Column("released_on", Date),
    Column("released_by", Text),
    Column("released_why", Text),
    Column("told_on", Date),  # when its coming end was told of
    CheckConstraint("until > since", name="ends_after_it_began"),
)
sanitary_deduction = Table(
    "sanitary_deduction",
    metadata,
    pk(),
    ref("industrial_user"),
    Column("since", Date, nullable=False),
    Column("gpd", Text, nullable=False),
    Column("basis", Text, nullable=False),
    Column("entered_by", Text, nullable=False),
    at("entered_at", now=True),
)
capacity_determination = Table(
    "capacity_determination",
    metadata,
    pk(),
    ref("city"),
    Column("applicant", Text, nullable=False),
    Column("asked", JSONB, nullable=False),
    Column("ledger", JSONB, nullable=False),  # as it stood
    Column("finding", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("by", Text, nullable=False),
    at("at", now=True),
)
