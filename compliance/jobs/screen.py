"""Screening, kept by dirty marks: what is new or changed is flagged anew, and judged again if so.

Flags lie beside the readings, in spans cut at quarter-hours, so that flagging anew never touches a
reading. Where they change, the readings are marked dirty: a finding that rests on a flagged reading
is for review, by the same fold as all else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Connection, Engine

from compliance.errors import NotInForce, UnitMismatch
from compliance.judging.screening import Settings, cross, screen
from compliance.judging.screening.settings import rinse_for, settings_for
from compliance.model.flags import Flag, FlagArray, FlaggedSpan, Reason, ReasonArray, spans
from compliance.model.keeping import holds
from compliance.model.parameters import Parameter
from compliance.model.periods import Window, day_of, from_us, to_us
from compliance.model.readings import UNJUDGED, Flags, Series
from compliance.model.rollups import QUARTER_US, quarter_of
from compliance.model.sites import Channel
from compliance.records import destructions, dirt, flags, readings, sites
from compliance.records.sites import Place
from compliance.rules.screening import cross_checks, thresholds

DUTY = 470410
AT_ONCE = timedelta(days=7)
AT_ONCE_US = AT_ONCE // timedelta(microseconds=1)
"""So much time of a channel is screened at once."""
_HOUR_US = 3_600_000_000
CHANGED = "screened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """What is tested of a channel.

    settings: of the tests of it alone, None without any; rinse: with the temperature channel that
    it is laid beside; ruleset: the name of the rules.
    """

    channel: int
    ruleset: str
    settings: Settings | None = None
    rinse: tuple[int, cross.Rinse] | None = None

    @property
    def looks_back_us(self) -> int:
        """How much history a reading's flags rest on."""
        alone = self.settings.looks_back_us if self.settings else 0
        return max(alone, self.rinse[1].looks_back_us if self.rinse else 0)


def screen_readings(
    engine: Engine, *, most: int = dirt.MOST, longest: timedelta | None = None
) -> int:
    """Flag what is marked; how many channels were. Safe to run again, and by many processes.

    most: so many rows of marks; longest: so much time of each.
    """
    with engine.begin() as db:
        marks = dirt.take(db, why=dirt.SCREEN, most=most, longest=longest)
        if not marks:
            return 0
        places = sites.places(db)
        every = _with_beside(marks, places)
        dirt.lock(db, list(every), duty=DUTY)
        for channel in sites.channels(db):
            mark = every.get(channel.id)
            if mark is not None:
                tests = tests_of(channel, places, mark)
                if tests.settings or tests.rinse:
                    _screen(db, tests, mark)
        return len(marks)


def _with_beside(
    marks: Mapping[int, dirt.Mark], places: Mapping[int, Place]
) -> dict[int, dirt.Mark]:
    """Marks, and those of pH channels whose temperature is marked: they are laid side by side."""
    every = dict(marks)
    warm: dict[int, dirt.Mark] = {}
    for channel, mark in marks.items():
        point = places[channel].point_id
        if _is(places[channel], Parameter.TEMPERATURE):
            warm[point] = warm[point] | mark if point in warm else mark
    for channel, place in places.items():
        if place.point_id in warm and _is(place, Parameter.PH):
            mark = warm[place.point_id]
            every[channel] = every[channel] | mark if channel in every else mark
    return every


def _is(place: Place, parameter: Parameter) -> bool:
    return place.parameter is parameter


def beside(channel: int, places: Mapping[int, Place], parameter: Parameter) -> int | None:
    """The channel of a parameter at the same point: of the same instrument where it has one."""
    own = places[channel]
    there = [
        c for c, p in places.items() if p.point_id == own.point_id and p.parameter is parameter
    ]
    mine = [c for c in there if places[c].instrument_id == own.instrument_id]
    return min(mine or there, default=None)


def tests_of(channel: Channel, places: Mapping[int, Place], mark: dirt.Mark) -> Tests:
    """The tests in force for a channel; those whose figures do not fit it are left out."""
    zone = ZoneInfo(places[channel.id].zone)
    try:
        ruleset, checks = cross_checks(day_of(mark.since, zone))
    except NotInForce:
        return Tests(channel=channel.id, ruleset="")
    rinse = None
    warm = beside(channel.id, places, Parameter.TEMPERATURE)
    if channel.parameter is Parameter.PH and checks.rinse and warm is not None:
        rinse = (warm, rinse_for(checks.rinse, temperature_unit=places[warm].unit))
    return Tests(
        channel=channel.id,
        ruleset=ruleset,
        settings=_settings(channel, zone, mark),
        rinse=rinse,
    )


def _settings(channel: Channel, zone: ZoneInfo, mark: dirt.Mark) -> Settings | None:
    """The thresholds in force for a channel; None where there are none that fit it."""
    span = None
    if channel.span_low is not None and channel.span_high is not None:
        span = (channel.span_low, channel.span_high)
    try:
        found = thresholds(channel.parameter, day_of(mark.since, zone))
        if found is None:
            return None
        return settings_for(found[1], version=found[0], unit=channel.unit, span=span)
    except (NotInForce, UnitMismatch):
        return None


def _screen(db: Connection, tests: Tests, mark: dirt.Mark) -> None:
    """Flag the quarters whose flags the new readings can change: their own, and what follows."""
    neighbour = to_us(mark.since - timedelta(hours=1))
    since_us = quarter_of(neighbour)
    until_us = quarter_of(to_us(mark.until) + tests.looks_back_us) + QUARTER_US
    for start in range(since_us, until_us, AT_ONCE_US):
        stop = min(start + AT_ONCE_US, until_us)
        flag(db, tests, start, stop)


def flag(
    db: Connection, tests: Tests, start: int, stop: int, *, denied: bool | None = None
) -> None:
    """Flag the readings of whole quarters ``[start, stop)`` anew, and mark them dirty if need be.

    denied: whether the point's total denies the flow of this time; None: as it was found before.
    """
    around = (start - tests.looks_back_us - QUARTER_US, stop + _HOUR_US)
    seen = _read(db, tests.channel, around)
    since, until = from_us(start), from_us(stop)
    stored = flags.between(db, [tests.channel], since=since, until=until).get(tests.channel, [])
    shut = destructions.closed(db, [tests.channel], since=since, until=until)
    before = _open([one for one in stored if one.since_us >= start], shut.get(tests.channel, ()))
    found_flag, reason = _alone(seen, tests)
    if tests.rinse is None:
        doubted = _denied(seen, before, denied)
    else:
        doubted = _rinsed(db, seen, tests.rinse, around, before)
    _doubt(found_flag, reason, doubted & ((seen.quality & UNJUDGED) == 0))
    found = _open(_spans(seen, found_flag, reason, (start, stop)), shut.get(tests.channel, ()))
    if found == before:
        return
    flags.replace(db, tests.channel, found, since=since, until=until, ruleset=tests.ruleset)
    readings.mark_dirty(db, [tests.channel], since=since, until=until, why=CHANGED)


def _open(found: list[FlaggedSpan], shut: Sequence[Window]) -> list[FlaggedSpan]:
    """Spans outside of months whose readings were destroyed: there nothing changes any more."""
    return [one for one in found if not holds(shut, from_us(one.since_us))]


def _read(db: Connection, channel: int, around: tuple[int, int]) -> Series:
    since, until = (from_us(at) for at in around)
    return readings.usable(db, [channel], since=since, until=until)[channel]


def _alone(seen: Series, tests: Tests) -> tuple[FlagArray, ReasonArray]:
    if tests.settings is not None:
        return screen(seen, tests.settings)
    return np.full(len(seen), Flag.PASS, np.int8), np.zeros(len(seen), np.int16)


def _rinsed(
    db: Connection,
    seen: Series,
    rinse: tuple[int, cross.Rinse],
    around: tuple[int, int],
    before: list[FlaggedSpan],
) -> Flags:
    """Which readings lie in a rinse; those that were found before, where the temperature that it
    was seen in was destroyed since."""
    if not len(seen):
        return np.zeros(0, np.bool_)
    since, until = (from_us(at) for at in around)
    found = cross.rinsed(seen, _read(db, rinse[0], around), rinse[1])
    for month in destructions.closed(db, [rinse[0]], since=since, until=until).get(rinse[0], ()):
        lo, hi = np.searchsorted(seen.at_us, [to_us(month.start), to_us(month.end)])
        found[lo:hi] = _found(seen, before)[lo:hi]
    return found


def _denied(seen: Series, before: list[FlaggedSpan], denied: bool | None) -> Flags:
    """Which readings the total denies: all of a day or none, or those that were found before."""
    if denied is not None:
        return np.full(len(seen), denied, np.bool_)
    return _found(seen, before)


def _found(seen: Series, before: list[FlaggedSpan]) -> Flags:
    """Which readings another channel made doubtful before."""
    found = np.zeros(len(seen), np.bool_)
    for one in before:
        if one.reason & Reason.CROSS_CHECK:
            lo = int(np.searchsorted(seen.at_us, one.since_us))
            found[lo : int(np.searchsorted(seen.at_us, one.until_us, side="right"))] = True
    return found


def _doubt(found: FlagArray, reason: ReasonArray, doubted: Flags) -> None:
    reason[doubted] |= Reason.CROSS_CHECK
    found[doubted & (found != Flag.FAIL)] = Flag.SUSPECT


def _spans(
    seen: Series, found_flag: FlagArray, reason: ReasonArray, span: tuple[int, int]
) -> list[FlaggedSpan]:
    """What is suspect or fails, by quarters; what is only missing or not evaluated has no span."""
    found_flag[reason == 0] = Flag.PASS
    lo, hi = (int(at) for at in np.searchsorted(seen.at_us, span))
    edges = np.flatnonzero(np.diff(seen.at_us[lo:hi] // QUARTER_US)) + 1 + lo
    found: list[FlaggedSpan] = []
    for begin, end in pairwise([lo, *edges.tolist(), hi]):
        found += spans(seen.at_us[begin:end], found_flag[begin:end], reason[begin:end])
    return found
