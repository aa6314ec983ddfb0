"""A user's shares of the plant's design from its records: days, composites, deductions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InsufficientData, NotInForce
from compliance.judging.agreements import (
    LOADS,
    Design,
    LoadDay,
    Shares,
    Trigger,
    early,
    shares,
)
from compliance.judging.documents import ByDocument, by_document, design, governing, settled
from compliance.judging.rolling import Forecast, forecast, rolling, series
from compliance.model.agreements import Deduction
from compliance.model.capacity import TESTED, Figure, Note
from compliance.model.parameters import Parameter
from compliance.model.periods import Window, add_months, day_of, midnight
from compliance.model.samples import SampleType
from compliance.records import agreements, capacity, days, samples, sites
from compliance.rules import book
from compliance.rules.effective import in_force
from compliance.rules.schema import FactorRule, FactorVersion, ShareRule
from compliance.sampling.takings import civil_day

EARLY = (30, 90)
"""Days of the early warnings."""
LOOKS_BACK = 24
"""Months of days that a trend of rolling twelve months is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """The four tests as a city's law has them on a day."""

    rules: Mapping[Parameter, ShareRule]
    trigger: Trigger
    pound_factor: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """What is on record of a city's plant: its design figures and the Director's notes."""

    figures: Sequence[Figure]
    notes: Sequence[Note]

    @property
    def design(self) -> Design | None:
        """What shares are worked with; None where no design flow is on record."""
        return design(self.figures, self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A user's tests: the shares, with those that wait for a note, and each by its documents."""

    found: Shares
    documents: Mapping[Parameter, tuple[ByDocument, ...]]
    deductions: tuple[Deduction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a page shows beside the tests: shorter windows, the months before, the forecasts."""

    early: Mapping[int, Shares]
    history: tuple[Shares, ...]
    forecasts: Mapping[Parameter, Forecast]


def test(city: sites.City, on: date) -> Test | None:
    """The tests that bind in a city; None where its rulebooks have none.

    Raises: NotInForce; InsufficientData where no rulebook has a pound factor.
    """
    rules = {
        rule.parameter: rule for name in city.rulebooks for rule in book.book(name).of(ShareRule)
    }
    first = next(iter(rules.values()), None)
    if first is None:
        return None
    version = in_force(first.id, first.versions, on)
    return Test(
        rules=rules,
        trigger=Trigger(
            at_least=version.at_least, approaching=version.approaching, months=version.months
        ),
        pound_factor=factor(city, on),
    )


def factor(city: sites.City, on: date) -> Decimal:
    """The pound factor of the rulebooks that bind in a city.

    Raises: InsufficientData when none has one: a number of law is never ours.
    """
    for name in city.rulebooks:
        for rule in book.book(name).of(FactorRule):
            version = book.book(name).in_force(rule.id, on)
            if isinstance(version, FactorVersion):
                return version.factor
    raise InsufficientData(f"no rulebook that binds in {city.name} has a pound factor")


def plant(db: Connection, city_id: int) -> Plant:
    """The figures and notes of a city."""
    return Plant(figures=capacity.figures(db, city_id), notes=capacity.notes(db, city_id))


def worked(
    db: Connection, user: days.User, city: sites.City, *, of: Test, plant: Plant, now: datetime
) -> Worked | None:
    """The tests over the months that end yesterday; None without a design of the plant.

    Raises: InsufficientData when there is no record of flow.
    """
    if (against := plant.design) is None:
        return None
    as_of = day_of(now, ZoneInfo(city.zone))
    deductions = agreements.deductions(db, user.id)
    found = shares(
        load_days(db, user, city, as_of=as_of, months=of.trigger.months, deductions=deductions),
        against,
        pound_factor=of.pound_factor,
        trigger=of.trigger,
        sanitary_basis="; ".join(dict.fromkeys(one.basis for one in deductions)),
    )
    documents = {
        one.parameter: by_document(one, plant.figures, of.trigger, projected=found.projected)
        for one in found.shares
    }
    judged = tuple(
        settled(
            one,
            documents[one.parameter],
            governing(plant.figures, plant.notes, one.parameter),
        )
        for one in found.shares
    )
    return Worked(found=replace(found, shares=judged), documents=documents, deductions=deductions)


def outlook(
    db: Connection, user: days.User, city: sites.City, *, of: Test, plant: Plant, now: datetime
) -> Outlook | None:
    """Early warnings, the rolling shares of the months before, and where they lead.

    None without a design, or without a day on record.
    """
    as_of = day_of(now, ZoneInfo(city.zone))
    deductions = agreements.deductions(db, user.id)
    given = load_days(db, user, city, as_of=as_of, months=LOOKS_BACK, deductions=deductions)
    if (against := plant.design) is None or not given:
        return None
    warned: dict[int, Shares] = {}
    for length in EARLY:
        try:
            warned[length] = early(
                given, against, length=length, pound_factor=of.pound_factor, trigger=of.trigger
            )
        except InsufficientData:
            continue  # nothing was recorded so lately: the page says so
    history = rolling(given, against, pound_factor=of.pound_factor, trigger=of.trigger)
    return Outlook(
        early=warned,
        history=history,
        forecasts={one: forecast(series(history, one), of.trigger) for one in TESTED},
    )


def load_days(
    db: Connection,
    user: days.User,
    city: sites.City,
    *,
    as_of: date,
    months: int,
    deductions: Sequence[Deduction] = (),
) -> list[LoadDay]:
    """The days of a user up to yesterday, with the strengths of the composites taken on them.

    A non-detect counts as zero, which no city has adopted yet. Sanitary flow is the day's own
    where it is on record, else what the deduction in force says.
    """
    since = add_months(as_of, -months)
    zone = ZoneInfo(city.zone)
    strengths: dict[date, dict[Parameter, Decimal]] = defaultdict(dict)
    window = Window(start=midnight(since, zone), end=midnight(as_of + timedelta(days=1), zone))
    for one in samples.in_window(db, user.id, window):
        if one.sample.sample_type is SampleType.COMPOSITE and one.result.parameter in LOADS:
            below = one.result.qualifier == "<"
            strengths[civil_day(one.sample, zone)][one.result.parameter] = (
                Decimal(0) if below else one.result.value
            )
    return [
        LoadDay(
            day=day.day,
            flow_gpd=day.flow_gal,
            sanitary_gpd=_sanitary(day, deductions),
            strengths=strengths.get(day.day, {}),
        )
        for day in days.days(db, user.id, since=since, until=as_of)
    ]


def _sanitary(day: days.Day, deductions: Sequence[Deduction]) -> Decimal:
    if day.sanitary_gal is not None:
        return day.sanitary_gal
    running = [one for one in deductions if one.since <= day.day]
    return running[-1].gpd if running else Decimal(0)


def known(city: sites.City, on: date) -> Test | None:
    """As ``test``; None too where no version is in force or no factor is on record."""
    try:
        return test(city, on)
    except (InsufficientData, NotInForce):
        return None
