"""Bill runs: each account is read, billed and written in its own transaction; a run may repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.billing.lines import bill
from compliance.billing.quantities import metered_water
from compliance.billing.strength import Finding, period_strength
from compliance.billing.tariffs import StrengthExcess, Tariff, in_force
from compliance.errors import ComplianceError, InsufficientData, RuleError
from compliance.model.billing import Bill, Category, NormalStrength, Strength, Usage, Volume
from compliance.model.findings import Authority
from compliance.model.parameters import Parameter
from compliance.model.periods import Period, day_of
from compliance.model.samples import SampleType
from compliance.model.units import Quantity, Unit
from compliance.records import audit, bills, outbox, samplers, samples, sites
from compliance.records.bills import Account
from compliance.records.samples import StoredResult
from compliance.records.sites import City
from compliance.rules import effective
from compliance.rules.book import book
from compliance.rules.schema import FactorRule, StrengthRule
from compliance.sampling.takings import civil_day


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did for one account. state: issued, standing (before), ready, blocked."""

    user: str
    state: str
    number: str | None = None
    total: Decimal | None = None
    why: str | None = None
    bill: Bill | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run over a city's accounts of Category C."""

    city: str
    period: Period
    tariff: str
    outcomes: tuple[Outcome, ...]

    def of(self, state: str) -> tuple[Outcome, ...]:
        """The accounts that came to one state."""
        return tuple(one for one in self.outcomes if one.state == state)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """What all bills of a run share."""

    city: City
    period: Period
    tariff: Tariff
    normal: dict[Parameter, NormalStrength]
    notes: tuple[str, ...]
    billed_on: date


def run(
    engine: Engine, *, city: str, period: Period, now: datetime, by: str = "the program"
) -> Run:
    """Bill each user of a city for a period and issue it; a bill that stands is left as it is.

    by: who lets it run, for the audit log.

    An account that lacks something is blocked with the reason, and the run goes on.
    Raises: NotFound; RuleError when the law of the whole run is not settled; Refused.
    """
    return _run(engine, city=city, period=period, now=now, act=partial(_issue, by=by))


def preview(engine: Engine, *, city: str, period: Period, now: datetime) -> Run:
    """What ``run`` would bill, by the same path; nothing is written."""
    return _run(engine, city=city, period=period, now=now, act=_show)


Act = Callable[[Connection, Account, Bill, City, datetime], Outcome]


def _run(engine: Engine, *, city: str, period: Period, now: datetime, act: Act) -> Run:
    with engine.begin() as db:
        found = sites.city(db, city)
        everyone = bills.accounts(db, found.id)
    law = _law(found, period, now)
    outcomes = tuple(
        _account(engine, account, law, now=now, act=act)
        for account in everyone
        if account.category == Category.C
    )
    return Run(city=city, period=period, tariff=law.tariff.name, outcomes=outcomes)


def _law(city: City, period: Period, now: datetime) -> _Law:
    billed_on = day_of(now, ZoneInfo(city.zone))
    if billed_on < period.end:
        raise InsufficientData(
            f"the period {period} has not ended on {billed_on}: nothing is billed"
        )
    tariff = in_force(city.slug, period.start)
    last = date.fromordinal(period.end.toordinal() - 1)
    if in_force(city.slug, last) is not tariff:
        raise RuleError(f"the tariff of {city.slug} changes inside {period}; bill each part alone")
    notes = _factor(city, tariff, period.start)
    return _Law(
        city=city,
        period=period,
        tariff=tariff,
        normal=_normal(city, period.start),
        notes=notes,
        billed_on=billed_on,
    )


def _normal(city: City, day: date) -> dict[Parameter, NormalStrength]:
    return {
        rule.parameter: NormalStrength(
            mg_l=effective.in_force(rule.id, rule.versions, day).strength, citation=rule.citation
        )
        for name in city.rulebooks
        for rule in book(name).of(StrengthRule)
    }


def _factor(city: City, tariff: Tariff, day: date) -> tuple[str, ...]:
    """Notes on the pound factor. Raises: RuleError where tariff and rulebook differ."""
    notes = []
    for rule in (rule for name in city.rulebooks for rule in book(name).of(FactorRule)):
        factor = effective.in_force(rule.id, rule.versions, day).factor
        if rule.id.endswith(".pound_factor"):
            if factor != tariff.document.pound_factor:
                raise RuleError(
                    f"tariff {tariff.name} has the pound factor {tariff.document.pound_factor}, "
                    f"{rule.id} has {factor}; expected the same: correct one of them"
                )
            adopted = "" if rule.authority != Authority.PROGRAM else "; not adopted by the city"
            notes.append(
                f"Pounds per million gallons and mg/L: {factor} ({rule.citation}){adopted}"
            )
    return tuple(notes)


def _account(engine: Engine, account: Account, law: _Law, *, now: datetime, act: Act) -> Outcome:
    try:
        with engine.begin() as db:
            bills.lock(db, account.id)
            standing = bills.covering(db, account.id, law.period)
            if standing:
                return Outcome(
                    user=account.slug,
                    state="standing",
                    number=standing.number,
                    total=standing.total,
                )
            made = bill(_usage(db, account, law), law.tariff, law.normal, billed_on=law.billed_on)
            notes = (*made.notes, *law.notes, *_cautions(db, account, law))
            made = replace(made, notes=notes)
            return act(db, account, made, law.city, now)
    except ComplianceError as error:
        return Outcome(user=account.slug, state="blocked", why=str(error))


def _show(db: Connection, account: Account, made: Bill, city: City, now: datetime) -> Outcome:
    return Outcome(user=account.slug, state="ready", total=made.total, bill=made)


def _issue(  # noqa: PLR0913 - an Act, and who does it
    db: Connection, account: Account, made: Bill, city: City, now: datetime, *, by: str
) -> Outcome:
    number = f"{_name(made.period)}-{account.slug}"
    bills.put(db, made, industrial_user_id=account.id, number=number, state="issued", now=now)
    outbox.put(
        db,
        "bill.issued",
        {
            "bill": number,
            "industrial_user": account.slug,
            "period_from": made.period.start.isoformat(),
            "period_to": made.period.end.isoformat(),
            "total": str(made.total),
            "due_on": made.due_on.isoformat() if made.due_on else None,
            "link": f"/bills/{number}",
        },
        city.id,
        at=now,
    )
    audit.note(
        db,
        by=by,
        act="issue a bill",
        subject=f"bill {number}",
        detail={"industrial_user": account.slug, "total": made.total, "tariff": made.tariff},
    )
    return Outcome(user=account.slug, state="issued", number=number, total=made.total, bill=made)


def _name(period: Period) -> str:
    return f"{period.start:%Y%m%d}-{period.end:%Y%m%d}"


def _usage(db: Connection, account: Account, law: _Law) -> Usage:
    flows = bills.flows(db, account.id, law.period)
    zone = ZoneInfo(law.city.zone)
    found = [
        (one, one.day or civil_day(one.sample, zone))
        for one in samples.in_window(db, account.id, law.period.window(zone))
    ]
    inside = [(one, day) for one, day in found if law.period.holds(day)]
    wanted = [
        line.parameter for line in law.tariff.document.lines if isinstance(line, StrengthExcess)
    ]
    return Usage(
        period=law.period,
        category=Category.C,
        meter_size=account.water_meter,
        volume=_volume(db, account, law.period, flows=flows),
        strengths={of: _strength(of, inside, flows) for of in wanted},
    )


def _cautions(db: Connection, account: Account, law: _Law) -> tuple[str, ...]:
    """Of the composites that results of this bill stand on, those that are flagged."""
    zone = ZoneInfo(law.city.zone)
    sampled = {
        (one.point_id, one.day or civil_day(one.sample, zone))
        for one in samples.in_window(db, account.id, law.period.window(zone))
        if one.sample.sample_type == SampleType.COMPOSITE
    }
    found = [
        taken.caution
        for point, day in sorted(sampled)
        if law.period.holds(day)
        for taken in samplers.on(db, point, day, zone)
    ]
    return tuple(one for one in found if one)


def _volume(
    db: Connection,
    account: Account,
    period: Period,
    *,
    flows: dict[tuple[int, date], Decimal | None],
) -> Volume:
    """Metered water of the whole period. Raises: InsufficientData where days lack a record."""
    records = bills.water(db, account.id, period)
    if sum(one.period.days for one in records) != period.days:
        raise InsufficientData(f"no record of metered water for all of {period}")
    points = {point for point, _ in flows}
    known = [gallons for gallons in flows.values() if gallons is not None]
    is_whole = bool(points) and len(known) == len(points) * period.days
    return metered_water(
        sum((one.gallons for one in records), Decimal(0)),
        reads="; ".join(one.reads for one in records if one.reads) or None,
        estimated=any(one.estimated for one in records),
        discharge_gal=sum(known, Decimal(0)) if is_whole else None,
    )


def _strength(
    of: Parameter,
    inside: list[tuple[StoredResult, date]],
    flows: dict[tuple[int, date], Decimal | None],
) -> Strength:
    """From composites only: a grab taken for a limit is no measure of a period."""
    return period_strength(
        of,
        [
            Finding(
                label=one.sample.label or f"result {one.id}",
                point=one.sample.point or "",
                day=day,
                mg_l=Quantity(value=one.result.value, unit=one.result.unit).to(Unit.MG_L).value,
                is_non_detect=one.result.is_non_detect,
                taken_by=one.sample.taken_by,
                flow_gal=flows.get((one.point_id, day)),
            )
            for one, day in inside
            if one.result.parameter == of and one.sample.sample_type == SampleType.COMPOSITE
        ],
    )
