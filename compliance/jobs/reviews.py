"""Days that change after they were billed: a person is asked to look; the bill stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError, NotFound, Refused
from compliance.jobs.totals import counter, tallied
from compliance.model.parameters import Parameter
from compliance.model.periods import day_of, from_us, local_day
from compliance.model.reviews import DayFigure, by_rate, by_total, counts_of
from compliance.model.sites import Channel
from compliance.model.thinning import thinned
from compliance.records import audit, reviews, rollups, sites
from compliance.records.reviews import Billed

LOOK = timedelta(days=31)
"""Counts of a total so far on either side are looked at: a step may go over many days."""
PIECE_US = 3_600_000_000

Days = Mapping[tuple[int, date], DayFigure]
"""Figures by channel and civil day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Bills over days that are about to be summed anew, and what those days are before."""

    billed: tuple[Billed, ...]
    channels: tuple[Channel, ...]
    zones: Mapping[int, ZoneInfo]
    first: date
    last: date
    before: Days


def watch(
    db: Connection, zones: Mapping[int, ZoneInfo], *, since_us: int, until_us: int
) -> Watch | None:
    """What billed days of channels are before they are summed anew; None where none is billed.

    zones: of the channels that are summed, in ``[since, until)``.
    """
    edges = from_us(since_us), from_us(until_us - 1)
    first = min(day_of(edges[0], zone) for zone in set(zones.values()))
    last = max(day_of(edges[1], zone) for zone in set(zones.values()))
    found = reviews.billed(db, list(zones), since=first, until=last + timedelta(days=1))
    if not found:
        return None
    wanted = {one.channel_id for one in found}
    channels = tuple(one for one in sites.channels(db) if one.id in wanted)
    return Watch(
        billed=found,
        channels=channels,
        zones=zones,
        first=first,
        last=last,
        before=_figures(db, channels, zones, first=first, last=last),
    )


def note(db: Connection, seen: Watch) -> int:
    """Open a review of each bill whose days are others now, in the transaction that changed them.

    How many days of bills. One that is open is brought up to date; no bill is changed.
    """
    after = _figures(db, seen.channels, seen.zones, first=seen.first, last=seen.last)
    count = 0
    for one in seen.billed:
        for (channel, day), now in after.items():
            was = seen.before[channel, day]
            mine = channel == one.channel_id and one.period.holds(day)
            if mine and was.value != now.value:
                reviews.put(db, one, day, was=was, now=now)
                count += 1
    return count


def settle(  # noqa: PLR0913 - what settling is
    engine: Engine, number: str, seen: Mapping[int, int], *, reason: str, by: str, now: datetime
) -> int:
    """Settle reviews of a bill, all of them or none; how many.

    seen: by number of a review, the version that the person saw. Raises: InputError, NotFound;
    Refused where one was settled already, or has changed since.
    """
    if not seen:
        raise InputError("No changed day was chosen; choose at least one to settle.")
    if len(reason.strip()) < SHORTEST_REASON:
        raise InputError(f"Write at least {SHORTEST_REASON} characters: why the bill may stand.")
    with engine.begin() as db:
        found = reviews.locked(db, number, seen)
        if len(found) < len(seen):
            missing = sorted(seen.keys() - {one.id for one in found})
            raise NotFound(f"Bill {number} has no review {missing[0]}.")
        for one in found:
            if not one.is_open:
                raise Refused(f"The review of {one.day} was settled by {one.settled_by} already.")
            if one.version != seen[one.id]:
                raise Refused(
                    f"{one.day} has changed again since it was shown: look at it as it is now."
                )
        reviews.settle(db, list(seen), by=by, why=reason.strip(), at=now)
        detail = {
            "reason": reason.strip(),
            "days": [
                {"channel": one.channel_id, "day": one.day, "was": one.was, "now": one.now}
                for one in found
            ],
        }
        audit.note(
            db, by=by, act="settle changed days of a bill", subject=f"bill {number}", detail=detail
        )
    return len(found)


def _figures(
    db: Connection,
    channels: tuple[Channel, ...],
    zones: Mapping[int, ZoneInfo],
    *,
    first: date,
    last: date,
) -> dict[tuple[int, date], DayFigure]:
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    rates = [one for one in channels if one.parameter is not Parameter.VOLUME]
    sums = rollups.days(db, [one.id for one in rates], since=first, until=last + timedelta(days=1))
    found = {}
    for one in rates:
        for day in days:
            figures = sums[one.id].get(day)
            found[one.id, day] = by_rate(figures[0] if figures else None, one.unit)
    for one in channels:
        if one.parameter is Parameter.VOLUME:
            found |= _of_total(db, one, zones[one.id], days)
    return found


def _of_total(
    db: Connection, of: Channel, zone: ZoneInfo, days: list[date]
) -> dict[tuple[int, date], DayFigure]:
    """Days of a total by the quarter-hours stored of it, so that before and after are alike."""
    windows = {day: local_day(day, zone) for day in days}
    since, until = windows[days[0]].start - LOOK, windows[days[-1]].end + LOOK
    stored = rollups.quarters(db, [of.id], since=since, until=until)[of.id]
    series = thinned(counts_of(stored), counter(of), piece_us=PIECE_US)
    steps = tallied(db, of, series).steps.steps
    return {(of.id, day): by_total(steps, window, of.unit) for day, window in windows.items()}
