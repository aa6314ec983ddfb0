"""Uploads, samples and results: each written once, an upload with its very bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, select
from sqlalchemy.dialects.postgresql import insert

from compliance.errors import NotFound
from compliance.model.parameters import Parameter
from compliance.model.periods import Window
from compliance.model.samples import Result, Sample, SampleType, TakenBy
from compliance.model.units import Unit
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A laboratory file as it came."""

    id: int
    filename: str
    sha256: str
    received_at: datetime
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """A result with its sample and place. day: as found when received, where it was."""

    id: int
    point_id: int
    sample: Sample
    result: Result
    day: date | None


def points(db: Connection, industrial_user_id: int) -> dict[str, int]:
    """The monitoring points of one user: code, id."""
    rows = db.execute(
        select(t.monitoring_point.c.code, t.monitoring_point.c.id)
        .where(t.monitoring_point.c.industrial_user_id == industrial_user_id)
        .order_by(t.monitoring_point.c.id)
    )
    return {row.code: row.id for row in rows}


def put_upload(
    db: Connection,
    *,
    industrial_user_id: int,
    person_id: int | None,
    filename: str,
    content: bytes,
    now: datetime,
) -> Upload:
    """Keep a file; the very same bytes of the same user are kept once."""
    sha256 = hashlib.sha256(content).hexdigest()
    new = db.scalar(
        insert(t.upload)
        .values(
            industrial_user_id=industrial_user_id,
            person_id=person_id,
            filename=filename,
            sha256=sha256,
            content=content,
            received_at=now,
        )
        .on_conflict_do_nothing(index_elements=["industrial_user_id", "sha256"])
        .returning(t.upload.c.id)
    )
    c = t.upload.c
    row = db.execute(
        select(c.id, c.filename, c.sha256, c.received_at).where(
            c.industrial_user_id == industrial_user_id, c.sha256 == sha256
        )
    ).mappings()
    return Upload(**row.one(), is_new=new is not None)


def put_sample(
    db: Connection,
    sample: Sample,
    *,
    point_id: int,
    span: Window,
    day: date,
    upload_id: int | None = None,
) -> int:
    """Keep a sample; its id, also where it was kept before.

    span: its instants, of a sample with a date alone those of that day; day: the civil day it
    belongs to.
    """
    key = {
        "monitoring_point_id": point_id,
        "label": sample.label or "",
        "sampled_to": span.end,
    }
    values = key | {
        "upload_id": upload_id,
        "sample_type": sample.sample_type.value if sample.sample_type else "",
        "taken_by": sample.taken_by.value,
        "laboratory": sample.laboratory,
        "sampled_from": span.start,
        "day": day,
        "timed": isinstance(sample.sampled_to, datetime),
    }
    new = db.scalar(_once(t.sample, values, key))
    return int(new if new is not None else db.scalar(_same(t.sample, key)) or 0)


def put_result(db: Connection, result: Result, *, sample_id: int) -> tuple[int, str | None]:
    """Keep a result; its id and, where the sample has another one, what that says.

    The earlier result stands: a correction is a person's act and not a second upload.
    """
    key = {"sample_id": sample_id, "parameter": result.parameter.value}
    values = key | {
        "qualifier": result.qualifier,
        "value": result.value,
        "written": result.written,
        "unit": result.unit.value,
        "mdl": result.mdl,
        "rl": result.rl,
        "method": result.method,
        "row": result.row,
    }
    new = db.scalar(_once(t.result, values, key))
    if new is not None:
        return int(new), None
    c = t.result.c
    old = db.execute(_same(t.result, key, c.qualifier, c.value, c.written, c.unit)).one()
    is_same = (old.qualifier, old.value, old.unit) == (
        result.qualifier, _rounded(result.value, old.value), result.unit.value,
    )  # fmt: skip
    return old.id, None if is_same else f"{old.qualifier}{old.written}"


def _rounded(value: Decimal, like: Decimal) -> Decimal:
    """A value as the database gives it back."""
    return value.quantize(like) if value.as_tuple().exponent != like.as_tuple().exponent else value


def _once(table: Any, values: Mapping[str, Any], key: Mapping[str, Any]) -> Any:
    statement = insert(table).values(**values)
    return statement.on_conflict_do_nothing(index_elements=list(key)).returning(table.c.id)


def _same(table: Any, key: Mapping[str, Any], *columns: Any) -> Any:
    return select(table.c.id, *columns).where(*(table.c[name] == key[name] for name in key))


def in_window(db: Connection, industrial_user_id: int, window: Window) -> tuple[StoredResult, ...]:
    """A user's results of samples that touch a window, in the order they were taken."""
    s = t.sample.c
    rows = db.execute(
        _results()
        .where(
            t.monitoring_point.c.industrial_user_id == industrial_user_id,
            s.sampled_from <= window.end,
            s.sampled_to >= window.start,
        )
        .order_by(s.sampled_to, s.label, t.result.c.parameter)
    ).mappings()
    return tuple(_stored(row) for row in rows)


def _results() -> Select[Any]:
    r = t.result.c
    return (
        select(
            t.sample, r.id.label("result_id"), r.parameter, r.qualifier, r.value, r.written, r.unit,
            r.mdl, r.rl, r.method, r.row, t.monitoring_point.c.code.label("point"),
        )
        .select_from(t.sample)
        .join(t.result)
        .join(t.monitoring_point, t.monitoring_point.c.id == t.sample.c.monitoring_point_id)
    )  # fmt: skip


def at_point(
    db: Connection, point_id: int, parameter: Parameter, *, since: date
) -> tuple[StoredResult, ...]:
    """The results of a parameter at a point from a civil day on, in the order they were taken.

    Those whose day was not found when they were received are left out.
    """
    s = t.sample.c
    rows = db.execute(
        _results()
        .where(
            s.monitoring_point_id == point_id,
            t.result.c.parameter == parameter.value,
            s.day >= since,
        )
        .order_by(s.sampled_to, s.label)
    ).mappings()
    return tuple(_stored(row) for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDay:
    """A civil day on which a parameter was measured at a point of a user."""

    industrial_user_id: int
    point_id: int
    point: str
    parameter: Parameter
    day: date


def measured_days(
    db: Connection, *, since: date, industrial_user_id: int | None = None
) -> tuple[MeasuredDay, ...]:
    """What was measured from a civil day on, by user; None: by all."""
    p = t.monitoring_point.c
    wanted = (
        select(p.industrial_user_id, p.id, p.code, t.result.c.parameter, t.sample.c.day)
        .select_from(t.sample)
        .join(t.result)
        .join(t.monitoring_point, p.id == t.sample.c.monitoring_point_id)
        .where(t.sample.c.day >= since)
        .distinct()
        .order_by(p.industrial_user_id, p.id, t.result.c.parameter, t.sample.c.day)
    )
    if industrial_user_id is not None:
        wanted = wanted.where(p.industrial_user_id == industrial_user_id)
    return tuple(
        MeasuredDay(
            industrial_user_id=user,
            point_id=point_id,
            point=code,
            parameter=Parameter(parameter),
            day=day,
        )
        for user, point_id, code, parameter, day in db.execute(wanted)
    )


def _stored(row: RowMapping) -> StoredResult:
    timed = row["timed"] or row["day"] is None
    return StoredResult(
        id=row["result_id"],
        point_id=row["monitoring_point_id"],
        day=row["day"],
        sample=Sample(
            label=row["label"] or None,
            point=row["point"],
            sampled_from=row["sampled_from"] if timed else row["day"],
            sampled_to=row["sampled_to"] if timed else row["day"],
            sample_type=SampleType(row["sample_type"]) if row["sample_type"] else None,
            taken_by=TakenBy(row["taken_by"]),
            laboratory=row["laboratory"],
        ),
        result=Result(
            parameter=Parameter(row["parameter"]),
            qualifier=row["qualifier"],
            value=row["value"],
            written=row["written"],
            unit=Unit(row["unit"]),
            mdl=row["mdl"],
            rl=row["rl"],
            method=row["method"],
            row=row["row"],
        ),
    )


def detection_of(db: Connection, exceedance_id: str) -> int | None:
    """The detection raised from a fact."""
    found: int | None = db.scalar(
        select(t.detection.c.id).where(t.detection.c.exceedance_id == exceedance_id)
    )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """An industrial user with what binds it."""

    id: int
    slug: str
    city_id: int
    zone: str
    rulebooks: tuple[str, ...]


def owner(db: Connection, industrial_user_id: int) -> Owner:
    """An industrial user and its city's zone and rulebooks.

    Raises: NotFound.
    """
    u, c = t.industrial_user.c, t.city.c
    row = db.execute(
        select(u.id, u.slug, u.city_id, c.zone, c.rulebooks)
        .select_from(t.industrial_user)
        .join(t.city)
        .where(u.id == industrial_user_id)
    ).first()
    if row is None:
        raise NotFound("there is no such industrial user here")
    return Owner(
        id=row.id,
        slug=row.slug,
        city_id=row.city_id,
        zone=row.zone,
        rulebooks=tuple(row.rulebooks),
    )
