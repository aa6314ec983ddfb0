"""Composites of samplers: computed where new readings touch them, live and late by one path.

A composite still being filled is brought up to date; one that is complete and comes out otherwise
by late readings, a meter's exchange or another setting is superseded, and both stay to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.errors import ComplianceError
from compliance.jobs.totals import counter, tallied
from compliance.model import sampler as pure
from compliance.model.composites import Composite, CompositeKind
from compliance.model.keeping import holds
from compliance.model.periods import Window, day_of, local_day
from compliance.model.readings import Series
from compliance.model.sites import Channel
from compliance.model.thinning import thinned
from compliance.model.totals import Step
from compliance.records import destructions, dirt, health, samplers, sites
from compliance.records.around import around, last_reading
from compliance.records.dirt import Mark
from compliance.records.samplers import Sampler, Taken

AT_ONCE = timedelta(days=31)
"""So much of a sampler's past is read at once."""
WIDEST_COUNT = Decimal(65536)
"""Where a sampler's count goes on from zero, if nobody said."""
CHANGED = "its readings, its meter's notes or its setting changed"
GONE = "later readings show other beginnings and ends"
CANNOT = (ComplianceError, ArithmeticError, ValueError, LookupError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One sampler's work: its settings, its channels, and who computes."""

    db: Connection
    settings: tuple[Sampler, ...]
    channels: dict[int, Channel]
    now: datetime
    release: str

    @property
    def newest(self) -> Sampler:
        return self.settings[-1]

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.newest.zone)

    def on(self, day: date) -> Sampler:
        """The setting in force on a civil day; before the first one, the first."""
        past = [one for one in self.settings if one.effective <= day]
        return past[-1] if past else self.settings[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was read of a sampler over a span."""

    aliquots: tuple[Step, ...]
    totals: tuple[Step, ...]
    bottles: Series | None
    cabinet: Series | None


def compose(engine: Engine, *, now: datetime, release: str) -> int:
    """Compute anew the composites that new readings touch; how many were written.

    Safe to run again and by many processes at once. A sampler that cannot be computed is noted as
    a fault, keeps its mark, and never stops the others.
    """
    written = 0
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.SAMPLER)
        if not marks:
            return 0
        channels = {channel.id: channel for channel in sites.channels(db)}
        for settings in samplers.by_point(db).values():
            mark = _joined(marks, settings)
            if mark is None:
                continue
            case = Case(db=db, settings=settings, channels=channels, now=now, release=release)
            try:
                with db.begin_nested():
                    dirt.lock(db, [settings[-1].aliquots])
                    written += _point(case, mark)
            except CANNOT as error:
                what = f"composites of {settings[-1].point} cannot be computed: {error}"
                health.fault_once(db, "work", what[:500], within=timedelta(hours=1))
                dirt.put(db, {settings[-1].aliquots: mark}, why=dirt.SAMPLER)
    return written


def _joined(marks: dict[int, Mark], settings: Sequence[Sampler]) -> Mark | None:
    own = [marks[one] for setting in settings for one in setting.channels if one in marks]
    if not own:
        return None
    return Mark(since=min(one.since for one in own), until=max(one.until for one in own))


def _point(case: Case, mark: Mark) -> int:
    """All composites that a mark touches, a month of readings at a time."""
    written, since = 0, mark.since
    while since < mark.until:
        until = min(mark.until, since + AT_ONCE)
        written += _part(case, Mark(since=since, until=until), is_last=until == mark.until)
        since = until
    return written


def _part(case: Case, mark: Mark, *, is_last: bool) -> int:
    span = _span(case, mark, is_last=is_last)
    if span is None:
        return 0
    found = _found(case, span)
    return _write(case, span, found)


def _span(case: Case, mark: Mark, *, is_last: bool) -> Window | None:
    """From where to where composites may come out otherwise: one further than those touched."""
    db, newest = case.db, case.newest
    before = samplers.starts(db, newest.point_id, at=mark.since, before=True)
    after = samplers.starts(db, newest.point_id, at=mark.until, before=False)
    since = before[1] if len(before) == 2 else dirt.first_reading(db, newest.aliquots)
    last = last_reading(db, newest.aliquots, until=case.now)
    if since is None or last is None:
        return None
    if newest.composite is CompositeKind.DAY:
        since = local_day(day_of(since, case.zone), case.zone).start
    end = last + timedelta(microseconds=1)
    if len(after) == 2:
        end = min(end, after[1])
    elif not is_last:
        end = min(end, mark.until)
    return Window(start=since, end=end) if since < end else None


def _found(case: Case, span: Window) -> dict[datetime, tuple[Sampler, Taken]]:
    """The composites that begin in a span, by where they begin."""
    read = _read(case, span)
    windows = _windows(case, read)
    found = {}
    for window in windows:
        if not span.holds(window.start):
            continue
        setting = case.on(day_of(window.start, case.zone))
        (made,) = pure.composites(
            [window],
            setting.program,
            aliquots=read.aliquots,
            totals=read.totals,
            total_unit=case.channels[case.newest.total].unit,
            bottles=read.bottles,
            cabinet=read.cabinet,
            zone=case.zone,
        )
        day = pure.day_belonging(window, read.totals, case.zone)
        is_open = window == windows[-1]
        found[window.start] = (setting, _taken(made, day=day, is_open=is_open))
    return found


def _read(case: Case, span: Window) -> Read:
    one = case.newest
    series = around(case.db, sorted(one.channels), since=span.start, until=span.end)
    total, count = case.channels[one.total], case.channels[one.aliquots]
    modulus = Decimal(count.modulus) if count.modulus else WIDEST_COUNT
    return Read(
        aliquots=pure.pulses(series[one.aliquots], modulus=modulus),
        totals=tallied(case.db, total, thinned(series[one.total], counter(total))).steps.steps,
        bottles=None if one.bottle is None else series[one.bottle],
        cabinet=None if one.cabinet is None else series[one.cabinet],
    )


def _windows(case: Case, read: Read) -> tuple[Window, ...]:
    match case.newest.composite:
        case CompositeKind.BOTTLE:
            return () if read.bottles is None else pure.bottle_windows(read.bottles)
        case CompositeKind.PROGRAM:
            return pure.program_windows(read.aliquots)
        case CompositeKind.DAY:
            return pure.day_windows(read.aliquots, case.zone)


def _taken(made: Composite, *, day: date, is_open: bool) -> Taken:
    return Taken(
        starts_at=made.window.start,
        ends_at=made.window.end,
        day=day,
        is_open=is_open,
        bottles=made.bottles,
        aliquots=made.aliquots,
        due=_text(made.due, "0.01"),
        missed=sum(pull.aliquots for pull in made.missed),
        gallons=_text(made.gallons, "0.1"),
        representativeness=_text(made.representativeness, "0.0001"),
        warmest_deg_c=_text(made.warmest_deg_c, "0.01"),
        faults=made.faults,
        working=made.working,
    )


def _text(value: Decimal | None, step: str) -> str | None:
    return None if value is None else f"{value.quantize(Decimal(step)):f}"


def _shut(case: Case, span: Window) -> tuple[Window, ...]:
    """The closed months of any channel of the sampler."""
    channels = sorted({one for setting in case.settings for one in setting.channels})
    found = destructions.closed(case.db, channels, since=span.start, until=span.end)
    return tuple(month for own in found.values() for month in own)


def _write(case: Case, span: Window, found: dict[datetime, tuple[Sampler, Taken]]) -> int:
    """Bring what stands in a span to what was found; how many rows were written.

    What begins in a month whose readings were destroyed since stays as it was.
    """
    shut = _shut(case, span)
    found = {start: one for start, one in found.items() if not holds(shut, start)}
    standing = {
        one.taken.starts_at: one
        for one in samplers.standing(
            case.db, case.newest.point_id, since=span.start, until=span.end
        )
        if not holds(shut, one.taken.starts_at)
    }
    gone = [one.id for start, one in standing.items() if start not in found]
    samplers.supersede(case.db, gone, now=case.now, why=GONE)
    written = len(gone)
    for start, (setting, taken) in found.items():
        known = standing.get(start)
        if known and (known.taken, known.sampler_id) == (taken, setting.id):
            continue
        written += 1
        if known and known.taken.is_open:
            samplers.refresh(case.db, known.id, setting, taken, now=case.now)
            continue
        if known:
            samplers.supersede(case.db, [known.id], now=case.now, why=CHANGED)
        samplers.keep(case.db, setting, taken, now=case.now, release=case.release)
    return written
