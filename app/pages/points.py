"""A monitoring point's chart, with the same in a sentence and in tables."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app import charts
from app.deps import Db, Now, Visible
from app.limits import bounds
from app.pages.board import told
from app.templating import page, parameter_shown
from app.wording import summary
from compliance.errors import NotFound
from compliance.records import casefile, places, readings
from compliance.records.casefile import Case
from compliance.records.places import Signal
from compliance.records.scope import Scope

router = APIRouter()

RANGES = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "90d": timedelta(days=90),
}


@router.get("/points/{code}")
def point(  # noqa: PLR0913 - what a request brings
    request: Request,
    scope: Visible,
    db: Db,
    at: Now,
    code: str,
    parameter: str = "",
    range: Annotated[str, Query(pattern="^(1h|24h|7d|90d)$")] = "24h",
    until: datetime | None = None,
) -> Response:
    """One channel over a span that the address names."""
    signals = places.at_point(db, scope, code)
    if not signals:
        return page(request, "point_empty.html", {"code": code})
    signal = chosen(signals, parameter)
    end = until.astimezone() if until else at
    context = span(db, scope, signal, since=end - RANGES[range], until=end)
    return page(
        request,
        "point.html",
        {
            **context,
            "signals": signals,
            "range": range,
            "ranges": RANGES,
            "fixed": until,
            "zone": signal.zone,
        },
    )


def chosen(signals: tuple[Signal, ...], parameter: str) -> Signal:
    """The channel of a parameter; pH where none is asked for. Raises: NotFound."""
    wanted = parameter or ("ph" if any(one.parameter == "ph" for one in signals) else "")
    for one in signals:
        if not wanted or one.parameter == wanted:
            return one
    raise NotFound(f"{signals[0].point} has no {parameter} channel.")


def span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> dict[str, Any]:
    """What a chart page needs to know of a channel from one instant to another."""
    found = readings.buckets(db, signal.channel_id, since=since, until=until)
    cases = in_span(db, scope, signal, since=since, until=until)
    judged = sum(one.count for one in found)
    flagged = sum(one.flagged for one in found)
    if judged + flagged:
        said = f"{judged:,} readings judged, {flagged:,} could not be relied on."
    else:
        said = "Nothing was read in this time."
    return {
        "signal": signal,
        "bounds": bounds(signal, until),
        "since": since,
        "until": until,
        "sentence": summary(f"{signal.point} {parameter_shown(signal.parameter)}", cases, said),
        "cases": [told(one) for one in cases],
        "rows": charts.rows(found, since=since, until=until),
        "empty": not judged + flagged,
    }


def in_span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Case, ...]:
    """The detections of a channel that overlap a span, oldest first."""
    found = casefile.cases(db, scope, since=since, point=signal.point, limit=500)
    mine = [one for one in found if one.channel_id == signal.channel_id and one.starts_at < until]
    return tuple(sorted(mine, key=lambda one: one.starts_at))
