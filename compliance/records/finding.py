"""One finding by whatever name people have for it: its id, a detection's, or a violation's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, select

from compliance.errors import InputError, NotFound
from compliance.model.findings import Authority, Exceedance, Kind, Side
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.units import Unit
from compliance.records import tables as t
from compliance.records.batch import unpack_words
from compliance.records.scope import Scope

NAMES = "a detection's number such as 12, a violation's such as V-2026-0001, or a finding's id"
_LARGEST = 2**31 - 1
_STATED = {
    "kind": Kind,
    "parameter": Parameter,
    "unit": Unit,
    "side": Side,
    "authority": Authority,
    "working": tuple,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A finding as it stands, with its evidence, its place and what people made of it.

    channel_id, result_id: what it was found in, one of the two; neither for an average or a mass.
    detection, state, violation: None where there is none.
    """

    fact: Exceedance
    evidence: Mapping[str, Any]
    channel_id: int | None
    result_id: int | None
    point: str
    industrial_user_id: int
    industrial_user: str
    city: str
    zone: str
    detection: int | None
    state: str | None
    differs: str | None
    violation: str | None
    judged_at: datetime
    judged_by: str
    superseded_at: datetime | None
    superseded_why: str | None


def find(db: Connection, scope: Scope, name: str) -> Record:
    """The finding that a person names.

    Raises: InputError for what is no such name; NotFound.
    """
    wanted = name.strip()
    row = (
        db.execute(
            select(
                t.exceedance,
                t.monitoring_point.c.code.label("point"),
                t.industrial_user.c.id.label("industrial_user_id"),
                t.industrial_user.c.name.label("industrial_user"),
                t.city.c.name.label("city"),
                t.city.c.zone,
                t.detection.c.id.label("detection"),
                t.detection.c.state,
                t.detection.c.differs,
                t.violation.c.number.label("violation"),
            )
            .select_from(t.exceedance)
            .join(
                t.monitoring_point,
                t.monitoring_point.c.id == t.exceedance.c.monitoring_point_id,
            )
            .join(t.industrial_user)
            .join(t.city)
            .outerjoin(t.detection, t.detection.c.exceedance_id == t.exceedance.c.id)
            .outerjoin(t.violation, t.violation.c.detection_id == t.detection.c.id)
            .where(scope.rows(), _named(wanted))
        )
        .mappings()
        .first()
    )
    if row is None:
        raise NotFound(f"there is no finding {wanted!r} here; expected {NAMES}")
    return _record(row)


def words(
    db: Connection, channel: int, *, since: datetime, until: datetime, count: int
) -> dict[int, tuple[int, ...]]:
    """The registers as they came with the readings of ``[since, until)``, by microseconds."""
    r = t.reading.c
    found = db.execute(
        select(r.read_at, r.words).where(
            r.channel_id == channel, r.read_at >= since, r.read_at < until, r.words.is_not(None)
        )
    )
    return {to_us(at): unpack_words(packed, count) for at, packed in found}


def _named(name: str) -> ColumnElement[bool]:
    if re.fullmatch(r"[0-9]{1,10}", name) and int(name) <= _LARGEST:
        return t.detection.c.id == int(name)
    if re.fullmatch(r"[0-9a-f]{24}", name):
        return t.exceedance.c.id == name
    if re.fullmatch(r"V-[0-9]{4}-[0-9]{1,9}", name):
        return t.violation.c.number == name
    raise InputError(f"{name[:60]!r} names no finding; expected {NAMES}")


def _record(row: RowMapping) -> Record:
    kept = {one.name for one in fields(Record)} - {"fact"}
    stated = {one.name: _STATED.get(one.name, _same)(row[one.name]) for one in fields(Exceedance)}
    return Record(fact=Exceedance(**stated), **{name: row[name] for name in kept})


def _same(value: Any) -> Any:
    return value
