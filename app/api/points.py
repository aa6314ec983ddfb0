"""Points and their readings."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter

from app import charts, excluding
from app.deps import Db, Now, Visible
from app.inputs import Instant, Storable
from app.laid import as_columns
from app.limits import Bound, bounds
from app.pages.points import chosen, span
from compliance.errors import InputError
from compliance.jobs import stack
from compliance.model.periods import to_us
from compliance.model.windows import Declared
from compliance.records import places
from compliance.records.casefile import Case, Screened

router = APIRouter(tags=["points"])

LONGEST = timedelta(days=800)


@router.get("/points")
def points(scope: Visible, db: Db) -> dict[str, Any]:
    """Monitoring points with their channels."""
    found: dict[str, dict[str, Any]] = {}
    for one in places.signals(db, scope):
        point = found.setdefault(
            one.point,
            {
                "point": one.point,
                "place": one.place,
                "industrial_user": one.industrial_user,
                "city": one.city,
                "zone": one.zone,
                "channels": [],
            },
        )
        point["channels"].append(
            {
                "channel": one.channel_id,
                "parameter": one.parameter,
                "unit": one.unit,
                "interval_s": one.interval_ms / 1000,
                "commissioned": one.counts,
            }
        )
    return {"points": list(found.values())}


@router.get("/points/{code}/readings")
def point_readings(  # noqa: PLR0913 - what a request brings
    scope: Visible,
    db: Db,
    at: Now,
    code: str,
    parameter: str = "",
    entry: str = "",
    since: Instant | None = None,
    until: Instant | None = None,
) -> dict[str, Any]:
    """A channel's readings as columns for a chart; ``null`` breaks the line, gaps are listed.

    Times are milliseconds since 1970. What was read in one of the ``windows`` that people declared
    is kept, and is not judged. Few readings come one by one, many in buckets with their extremes.
    ``flags`` are spans that screening doubts, ``determinations`` what people said of readings,
    ``corrected`` those that were corrected, with what was read first. ``entry`` names the channel
    where a point has several of a parameter. An excursion without ``detection`` is the program's
    own screening.
    """
    signals = places.at_point(db, scope, code)
    if not signals:
        return {"point": code, "columns": {"at": [], "low": [], "high": []}, "gaps": []}
    signal = chosen(signals, parameter, entry)
    end = _aware(until, "until") or at
    start = _aware(since, "since") or end - timedelta(hours=24)
    if not timedelta(0) < end - start <= LONGEST:
        raise InputError(
            f"since {start.isoformat()} until {end.isoformat()} is not a span of time up to "
            f"{LONGEST.days} days; give since before until"
        )
    shown = span(db, scope, signal, since=start, until=end)
    columns = charts.columns(shown["buckets"], since_us=to_us(start), until_us=to_us(end))
    return {
        "point": code,
        "parameter": signal.parameter,
        "unit": signal.unit,
        "resolution": signal.resolution,
        "zone": signal.zone,
        "says": shown["sentence"],
        "since": to_us(start) // 1000,
        "until": to_us(end) // 1000,
        "columns": {"at": columns.at_ms, "low": columns.low, "high": columns.high},
        "gaps": columns.gaps,
        "not_commissioned": [(a // 1000, b // 1000) for a, b in shown["uncounted"]],
        "windows": [_window(one, end) for one in shown["windows"]],
        **as_columns(shown["laid"], signal),
        "judged": columns.judged,
        "flagged": columns.flagged,
        "limits": [_limit(one) for one in bounds(signal, end, stack.of(db))],
        "excursions": [
            _excursion(one["case"], one["headline"])
            for one in (*shown["cases"], *shown["screening"])
        ],
    }


@router.get("/points/{code}/exclusions")
def point_exclusions(
    scope: Visible, db: Db, at: Now, code: str, month: Storable = ""
) -> dict[str, Any]:
    """What share of a month's readings was left out, inside the limit and beyond it, by whom.

    ``month`` as 2026-11, at the plant; the present one where none is named. Whether a reading is
    left out may not depend on its value: the two shares stand side by side.
    """
    signals = places.at_point(db, scope, code)
    zone = signals[0].zone if signals else places.zone(db, scope)
    return excluding.as_json(db, signals, excluding.month_of(month, zone=zone, now=at), now=at) | {
        "point": code
    }


def _window(one: Declared, end: datetime) -> dict[str, Any]:
    until = min(one.until, end) if one.until else end
    return {
        "from": to_us(one.since) // 1000,
        "to": to_us(until) // 1000,
        "kind": one.kind.value,
        "says": f"{one.during}, declared by {one.declared_by}; {one.when_declared}",
    }


def _limit(one: Bound) -> dict[str, Any]:
    return {
        "rule": one.rule_id,
        "side": one.side,
        "value": one.value,
        "label": one.label,
        "citation": one.citation,
        "authority": one.authority,
    }


def _excursion(one: Case | Screened, says: str) -> dict[str, Any]:
    detected = (one.id, one.state) if isinstance(one, Case) else (None, "screening")
    return {
        "detection": detected[0],
        "state": detected[1],
        "kind": one.kind,
        "side": one.side,
        "starts": to_us(one.starts_at) // 1000,
        "ends": to_us(one.ends_at) // 1000,
        "settled": one.settled,
        "says": says,
    }


def _aware(at: datetime | None, name: str) -> datetime | None:
    if at is not None and at.tzinfo is None:
        raise InputError(
            f"{name} {at.isoformat()} has no offset; write it as 2026-03-01T08:00:00-06:00"
        )
    return at
