"""Every table, as SQLAlchemy Core. Private to ``records`` and to the migrations."""

from __future__ import annotations

from compliance.records.tables.audit import (
    audit,
)
from compliance.records.tables.capacity import (
    capacity_determination,
    capacity_figure,
    facility,
    governing_note,
    sanitary_deduction,
    service_agreement,
)
from compliance.records.tables.commissioning import (
    comparison,
    counting,
    field_question,
)
from compliance.records.tables.common import (
    metadata,
)
from compliance.records.tables.control import (
    approval,
    control,
)
from compliance.records.tables.edge import (
    delivery,
    delivery_attempt,
    edition_seen,
    endpoint,
    fault,
    heartbeat,
    lease,
    outbox,
    silence,
    token,
    worker,
)
from compliance.records.tables.findings import (
    act,
    detection,
    exceedance,
    exceedance_history,
    fold_hour,
    fold_state,
    trigger_fact,
    violation,
)
from compliance.records.tables.keeping import (
    destruction,
    hold,
    records_schedule,
)
from compliance.records.tables.money import (
    bill,
    bill_line,
    bill_review,
    water_use,
)
from compliance.records.tables.noncompliance import (
    snc_determination,
)
from compliance.records.tables.people import (
    idempotency_key,
    person,
    session,
    signin_failure,
)
from compliance.records.tables.places import (
    calibration,
    channel,
    channel_cadence,
    city,
    commissioning,
    gateway,
    industrial_user,
    instrument,
    monitoring_point,
    plant,
    register_map,
)
from compliance.records.tables.readings import (
    batch,
    day_fact,
    dirty,
    gap,
    quarantine,
    reading,
    rollup_day,
    rollup_quarter,
)
from compliance.records.tables.rulings import (
    ruling,
)
from compliance.records.tables.samplers import (
    composite,
    meter_event,
    sampler,
)
from compliance.records.tables.samples import (
    result,
    sample,
    upload,
)
from compliance.records.tables.screening import (
    correction,
    determination,
    flagged_span,
)
from compliance.records.tables.slugs import (
    slug_decision,
    slug_note,
)
from compliance.records.tables.windows import (
    declared_window,
)

__all__ = [
    "act",
    "approval",
    "audit",
    "batch",
    "bill",
    "bill_line",
    "bill_review",
    "calibration",
    "capacity_determination",
    "capacity_figure",
    "channel",
    "channel_cadence",
    "city",
    "commissioning",
    "comparison",
    "composite",
    "control",
    "correction",
    "counting",
    "day_fact",
    "declared_window",
    "delivery",
    "delivery_attempt",
    "destruction",
    "detection",
    "determination",
    "dirty",
    "edition_seen",
    "endpoint",
    "exceedance",
    "exceedance_history",
    "facility",
    "fault",
    "field_question",
    "flagged_span",
    "fold_hour",
    "fold_state",
    "gap",
    "gateway",
    "governing_note",
    "heartbeat",
    "hold",
    "idempotency_key",
    "industrial_user",
    "instrument",
    "lease",
    "metadata",
    "meter_event",
    "monitoring_point",
    "outbox",
    "person",
    "plant",
    "quarantine",
    "reading",
    "records_schedule",
    "register_map",
    "result",
    "rollup_day",
    "rollup_quarter",
    "ruling",
    "sample",
    "sampler",
    "sanitary_deduction",
    "service_agreement",
    "session",
    "snc_determination",
    "signin_failure",
    "silence",
    "slug_decision",
    "slug_note",
    "token",
    "trigger_fact",
    "upload",
    "violation",
    "water_use",
    "worker",
]
