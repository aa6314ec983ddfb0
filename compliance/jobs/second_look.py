"""What of a point deserves a second look, worked out when somebody asks, and kept nowhere.

On demand and not as a duty of the worker: an observation is no finding and no event, so nothing of
it may stand in a record that others could be given, or grow stale there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.judging import integrity, integrity_samples
from compliance.judging.integrity import Running
from compliance.judging.integrity_samples import Dated, Split
from compliance.model.integrity import Observation
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Window, day_of
from compliance.model.readings import Series
from compliance.model.samples import TakenBy
from compliance.model.units import Quantity, Unit
from compliance.records import calibrations, readings, rollups, samples, windows
from compliance.records.places import Signal
from compliance.records.samples import StoredResult
from compliance.rules.integrity import IntegritySettings, settings_on
from compliance.sampling.takings import civil_day

DAYS = 28
"""Of readings; long enough for a habit to show, short enough to be read while somebody waits."""
RESULT_DAYS = 366
MINUTES_A_DAY = 1440


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondLook:
    """What was seen, newest first, and what could not be looked at, with the reason."""

    since: datetime
    until: datetime
    settings: str
    observations: tuple[Observation, ...]
    not_looked_at: tuple[str, ...]


def second_look(db: Connection, signals: Sequence[Signal], *, now: datetime) -> SecondLook:
    """Run the detectors over a point. signals: all its channels, at least one."""
    zone = ZoneInfo(signals[0].zone)
    settings, since = settings_on(day_of(now, zone)), now - timedelta(days=DAYS)
    missing: list[str] = []
    found = [
        *_of_readings(db, signals, settings, since=since, until=now, missing=missing),
        *_of_samples(db, signals, settings, now=now, missing=missing),
    ]
    missing.append("metered water against sewer flow: the program does not compare them here yet")
    missing.append("numbers sent again as others: each is refused and told when it is sent")
    found.sort(key=lambda one: str(one.until), reverse=True)
    return SecondLook(
        since=since,
        until=now,
        settings=settings.version,
        observations=tuple(found),
        not_looked_at=tuple(missing),
    )


def _of_readings(
    db: Connection,
    signals: Sequence[Signal],
    settings: IntegritySettings,
    *,
    since: datetime,
    until: datetime,
    missing: list[str],
) -> list[Observation]:
    flow = next((one for one in signals if one.parameter == Parameter.FLOW), None)
    water = _water(db, flow, settings, since=since, until=until)
    if water is None:
        missing.append(
            "plateaus and outages while flow ran: this point has no flow that ran, or no record "
            "of it"
        )
    found: list[Observation] = []
    for one in signals:
        if one.parameter not in (Parameter.PH, Parameter.TEMPERATURE):
            continue
        series = readings.usable(db, [one.channel_id], since=since, until=until)[one.channel_id]
        name = label(Parameter(one.parameter))
        found += integrity.outages(series, water, settings, name=name)
        if one.parameter == Parameter.PH:
            unit = flow.unit if flow else ""
            found += integrity.plateaus(series, water, settings, unit=unit)
            records = _records(db, one.channel_id, since=since, until=until)
            found += integrity.calibrations_without_log(series, records, settings)
    return found


def _water(
    db: Connection,
    flow: Signal | None,
    settings: IntegritySettings,
    *,
    since: datetime,
    until: datetime,
) -> Running | None:
    if flow is None:
        return None
    series: Series = readings.usable(db, [flow.channel_id], since=since, until=until)[
        flow.channel_id
    ]
    return integrity.running(series, settings)


def _records(db: Connection, channel: int, *, since: datetime, until: datetime) -> list[datetime]:
    """When calibrations are on record, and the beginnings and ends of declared windows."""
    at = [one.at for one in calibrations.of(db, [channel])]
    day = timedelta(days=1)
    declared = windows.by_channel(db, [channel], since=since - day, until=until + day)
    for one in declared.get(channel, ()):
        at += [one.since, *([one.until] if one.until else [])]
    return at


def _of_samples(
    db: Connection,
    signals: Sequence[Signal],
    settings: IntegritySettings,
    *,
    now: datetime,
    missing: list[str],
) -> list[Observation]:
    first = signals[0]
    zone = ZoneInfo(first.zone)
    window = Window(start=now - timedelta(days=RESULT_DAYS), end=now)
    every = [
        one
        for one in samples.in_window(db, first.industrial_user_id, window)
        if one.point_id == first.point_id
    ]
    own = [one for one in every if one.sample.taken_by is TakenBy.INDUSTRIAL_USER]
    dated = [Dated(day=_day(one, zone), result=one.result) for one in own]
    flows = _flows(db, signals, since=day_of(window.start, zone), until=day_of(now, zone))
    if not flows:
        missing.append("samples on days of low flow: no day of flow is on record")
    return [
        *integrity_samples.identical_results(dated, settings),
        *integrity_samples.splits_that_disagree(_splits(every, zone), settings),
        *integrity_samples.only_on_low_days([one.day for one in dated], flows, settings),
    ]


def _day(one: StoredResult, zone: ZoneInfo) -> date:
    return one.day or civil_day(one.sample, zone)


def _flows(
    db: Connection, signals: Sequence[Signal], *, since: date, until: date
) -> dict[date, Decimal]:
    """Gallons by civil day, of days that were held for nine tenths at least."""
    flow = next((one for one in signals if one.parameter == Parameter.FLOW), None)
    if flow is None:
        return {}
    days = rollups.days(db, [flow.channel_id], since=since, until=until)[flow.channel_id]
    a_minute = Quantity(value=Decimal(1), unit=Unit(flow.unit)).to(Unit.GPM).value
    return {
        day: Decimal(repr(figures.mean)) * a_minute * MINUTES_A_DAY
        for day, (figures, _) in days.items()
        if figures.mean is not None and figures.completeness >= 0.9
    }


def _splits(every: Sequence[StoredResult], zone: ZoneInfo) -> list[Split]:
    """Detects of one day and parameter in samples of the same kind: the user's and another's."""
    pairs: dict[tuple[date, Parameter, str], list[StoredResult]] = defaultdict(list)
    for one in every:
        if not one.result.qualifier:
            kind = one.sample.sample_type.value if one.sample.sample_type else ""
            pairs[_day(one, zone), one.result.parameter, kind].append(one)
    found = []
    for (day, parameter, _), together in pairs.items():
        mine = [one for one in together if one.sample.taken_by is TakenBy.INDUSTRIAL_USER]
        theirs = [one for one in together if one.sample.taken_by is not TakenBy.INDUSTRIAL_USER]
        for a, b in product(mine, theirs):
            city = Quantity(value=b.result.value, unit=b.result.unit).to(a.result.unit).value
            found.append(Split(day=day, parameter=parameter, users=a.result.value, citys=city))
    return found
