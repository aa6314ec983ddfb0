"""Every table, as SQLAlchemy Core. Private to ``records`` and to the migrations."""

from __future__ import annotations

from compliance.records.tables.audit import audit
from compliance.records.tables.commissioning import comparison, counting, field_question
from compliance.records.tables.common import metadata
from compliance.records.tables.edge import (
    delivery,
    delivery_attempt,
    endpoint,
    fault,
    heartbeat,
    lease,
    outbox,
    token,
    worker,
)
from compliance.records.tables.findings import (
    act,
    detection,
    exceedance,
    exceedance_history,
    fold_state,
    trigger_fact,
    violation,
)
from compliance.records.tables.money import bill, bill_line, water_use
from compliance.records.tables.people import idempotency_key, person, session, signin_failure
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
from compliance.records.tables.readings import batch, day_fact, dirty, gap, quarantine, reading
from compliance.records.tables.samplers import composite, meter_event, sampler
from compliance.records.tables.samples import result, sample, upload
from compliance.records.tables.windows import declared_window

__all__ = [
    "metadata",
    "audit",
    "composite",
    "meter_event",
    "sampler",
    "calibration",
    "channel",
    "channel_cadence",
    "city",
    "commissioning",
    "comparison",
    "counting",
    "field_question",
    "gateway",
    "industrial_user",
    "instrument",
    "monitoring_point",
    "plant",
    "register_map",
    "batch",
    "day_fact",
    "declared_window",
    "dirty",
    "gap",
    "quarantine",
    "reading",
    "result",
    "sample",
    "upload",
    "act",
    "detection",
    "exceedance",
    "exceedance_history",
    "fold_state",
    "trigger_fact",
    "violation",
    "bill",
    "bill_line",
    "water_use",
    "delivery",
    "delivery_attempt",
    "endpoint",
    "fault",
    "heartbeat",
    "idempotency_key",
    "lease",
    "outbox",
    "person",
    "session",
    "signin_failure",
    "token",
    "worker",
]
