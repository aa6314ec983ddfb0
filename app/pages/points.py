"""A monitoring point's chart, with the same in a sentence and in tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app import charts, excluding
from app.deps import Db, Now, Visible
from app.inputs import Instant
from app.laid import laid
from app.limits import bounds
from app.pages.board import told
from app.templating import page
from app.tiles import ordered
from app.wording import names, summary
from compliance.errors import NotFound
from compliance.jobs import stack
from compliance.jobs.exclusions import of_month
from compliance.judging.exclusions import RULE
from compliance.model.commissioning import holes
from compliance.model.periods import day_of, to_us
from compliance.records import buckets, casefile, counting, destructions, places, samplers, windows
from compliance.records.casefile import Case, Screened
from compliance.records.places import Signal
from compliance.records.samplers import Stored
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
    entry: str = "",
    range: Literal["1h", "24h", "7d", "90d"] = "24h",
    until: Instant | None = None,
) -> Response:
    """One channel over a span that the address names."""
    signals = ordered(places.at_point(db, scope, code))
    if not signals:
        return page(request, "point_empty.html", {"code": code})
    signal = chosen(signals, parameter, entry)
    end = _aware(until, signal.zone) if until else at
    context = span(db, scope, signal, since=end - RANGES[range], until=end)
    month = excluding.month_of("", zone=signal.zone, now=end)
    left_out = of_month(db, signal.channel_id, month, now=at)
    return page(
        request,
        "point.html",
        {
            **context,
            "signals": [(one, names(signals)[one.channel_id]) for one in signals],
            "range": range,
            "ranges": RANGES,
            "fixed": until,
            "zone": signal.zone,
            "month": month,
            "exclusions": excluding.rows(left_out) if left_out else (),
            "left_out": left_out,
            "rule": RULE,
            "composites_here": composites_in(db, scope, signal, since=context["since"], until=end),
        },
    )


def composites_in(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Stored, ...]:
    """The composites of a point's sampler that belong to the days of a span, newest first."""
    zone = ZoneInfo(signal.zone)
    first, last = day_of(since, zone), day_of(until, zone)
    return samplers.of_days(db, scope, signal.point, first=first, last=last)


def _aware(at: datetime, zone: str) -> datetime:
    """An instant that an address names: at the plant, where it has no offset."""
    return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))


def chosen(signals: Sequence[Signal], parameter: str, entry: str = "") -> Signal:
    """The channel of a parameter, and of a map's entry where a point has several of it.

    pH where none is asked for. Raises: NotFound.
    """
    wanted = parameter or ("ph" if any(one.parameter == "ph" for one in signals) else "")
    for one in signals:
        if wanted in ("", one.parameter) and entry in ("", one.entry):
            return one
    raise NotFound(f"{signals[0].point} has no {f'{parameter} {entry}'.strip()} channel.")


def span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> dict[str, Any]:
    """What a chart page needs to know of a channel from one instant to another."""
    found = buckets.buckets(db, signal.channel_id, since=since, until=until)
    cases = in_span(db, scope, signal, since=since, until=until)
    screening = screened_in_span(db, scope, signal, since=since, until=until)
    withdrawn = withdrawn_in_span(db, scope, signal, since=since, until=until)
    name = names(places.at_point(db, scope, signal.point))[signal.channel_id]
    destroyed = destructions.of_channel(db, signal.channel_id, since=since, until=until)
    apart = sum(one.uncounted for one in found)
    judged = sum(one.count for one in found) - apart
    flagged = sum(one.flagged for one in found)
    in_windows = sum(one.declared for one in found)
    determined = sum(one.determined for one in found)
    if judged + apart + flagged:
        said = f"{judged:,} usable readings, {flagged:,} that could not be relied on"
        said += f", {in_windows:,} of them in declared windows" if in_windows else ""
        said += f", {determined:,} of them determined not to count" if determined else ""
        said += "."
        if apart:
            said += f" {apart:,} more were not judged: the point was not commissioned then."
    else:
        said = "" if destroyed else "Nothing was read in this time."
    if destroyed:
        said = f"{said} Readings of this time were destroyed.".strip()
    limits = bounds(signal, until, stack.of(db))
    title = f"{signal.point} {name.text}"
    facts: tuple[Case | Screened, ...] = (*cases, *screening)
    return {
        "signal": signal,
        "name": name,
        "bounds": limits,
        "since": since,
        "until": until,
        "sentence": summary(title, facts, said, is_judged=bool(limits), withdrawn=withdrawn),
        "cases": [told(one) for one in cases],
        "screening": [told(one) for one in screening],
        "withdrawn_since": [told(one) for one in withdrawn],
        "buckets": found,
        "windows": windows.of(db, [signal.channel_id], since=since, until=until),
        "laid": laid(db, signal, since=since, until=until),
        "destroyed": destroyed,
        "rows": charts.rows(found, since=since, until=until),
        "uncounted": uncounted(db, signal, since=since, until=until),
        "empty": not judged + apart + flagged,
    }


def uncounted(
    db: Connection, signal: Signal, *, since: datetime, until: datetime
) -> list[tuple[int, int]]:
    """When within a span a channel did not count, in microseconds since 1970."""
    spans = counting.spans(db, [signal.channel_id]).get(signal.channel_id, ())
    return holes(spans, since_us=to_us(since), until_us=to_us(until))


def in_span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Case, ...]:
    """The detections of a channel that overlap a span, oldest first."""
    found = casefile.cases(db, scope, since=since, until=until, point=signal.point, limit=500)
    mine = [one for one in found if one.channel_id == signal.channel_id]
    return tuple(sorted(mine, key=lambda one: one.starts_at))


def withdrawn_in_span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Case, ...]:
    """The withdrawn findings of a span from which a violation had been opened, oldest first."""
    found = casefile.cases(
        db,
        scope,
        states=(casefile.WITHDRAWN,),
        since=since,
        until=until,
        channel_id=signal.channel_id,
        opened=True,
        limit=500,
    )
    return tuple(reversed(found))


def screened_in_span(
    db: Connection, scope: Scope, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Screened, ...]:
    """What the program's screening found on a channel within a span, oldest first."""
    found = casefile.screened(db, scope, since=since, point=signal.point)
    mine = [one for one in found if one.channel_id == signal.channel_id and one.starts_at < until]
    return tuple(reversed(mine))
