"""A bill's lines: quantity × rate, rounded once a line, with the sum in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal

from compliance.billing.tariffs import (
    AnyCharge,
    Due,
    FixedByMeter,
    StrengthExcess,
    Tariff,
    VolumeCharge,
)
from compliance.billing.words import money, number
from compliance.errors import InsufficientData
from compliance.model.billing import Bill, BillLine, NormalStrength, SampleUsed, Usage
from compliance.model.loads import load_lb
from compliance.model.money import dollars
from compliance.model.parameters import Parameter, label
from compliance.model.periods import Period, add_months

_SATURDAY = 5


def bill(
    usage: Usage,
    tariff: Tariff,
    normal: Mapping[Parameter, NormalStrength],
    *,
    billed_on: date | None = None,
) -> Bill:
    """What a user owes for a period; every number is exact until its line is rounded.

    normal: the ordinance's normal domestic strengths; billed_on: the printed date, for the due day.
    Raises: InsufficientData naming what a line lacks.
    """
    document = tariff.document
    made = tuple(_line(charge, usage, tariff, normal) for charge in document.lines)
    return Bill(
        period=usage.period,
        tariff=tariff.name,
        tariff_sha256=tariff.sha256,
        lines=made,
        notes=_notes(tariff),
        due_on=due_on(document.due, usage.period, billed_on)
        if document.due and billed_on
        else None,
    )


def _notes(tariff: Tariff) -> tuple[str, ...]:
    document = tariff.document
    adopted = document.adopted_by or "not adopted by the city: placeholder rates, not a real bill"
    due = (f"Due: {document.due.citation}",) if document.due else ()
    return (f"Rates: {document.source}", f"Tariff {tariff.name}: {adopted}", *due)


def _line(
    charge: AnyCharge, usage: Usage, tariff: Tariff, normal: Mapping[Parameter, NormalStrength]
) -> BillLine:
    if isinstance(charge, FixedByMeter):
        return _fixed(charge, usage)
    if isinstance(charge, VolumeCharge):
        return _volume(charge, usage)
    return _excess(charge, usage, tariff.document.pound_factor, normal)


def _charged(
    charge: AnyCharge,
    *,
    quantity: Decimal,
    unit: str,
    rate: Decimal,
    working: tuple[str, ...],
    sources: tuple[str, ...] = (),
    samples: tuple[SampleUsed, ...] = (),
) -> BillLine:
    """A line: the one place where money is rounded."""
    unrounded = quantity * rate
    amount = dollars(unrounded)
    rounded = "" if unrounded == amount else f", rounded half up to {money(amount)}"
    last = f"{number(quantity)} {unit} × {money(rate)}/{unit} = {money(unrounded)}{rounded}"
    own = (charge.source,) if charge.source else ()
    return BillLine(
        code=charge.code,
        description=charge.description,
        quantity=quantity,
        unit=unit,
        rate=rate,
        unrounded=unrounded,
        amount=amount,
        working=(*working, last),
        sources=(*sources, *own),
        samples=samples,
    )


def _fixed(charge: FixedByMeter, usage: Usage) -> BillLine:
    rate = charge.per_month.get(usage.meter_size, charge.per_month.get("any"))
    if rate is None:
        raise InsufficientData(
            f"{charge.code}: the tariff has no rate for a meter of {usage.meter_size}; "
            f"it has {', '.join(charge.per_month)}"
        )
    months = _months(usage.period)
    working = (f"Meter size {usage.meter_size}; {usage.period}: {months} months",)
    return _charged(charge, quantity=Decimal(months), unit="month", rate=rate, working=working)


def _months(period: Period) -> int:
    """Whole months of a period. Raises: InsufficientData where there is a part of one."""
    for months in range(1, 25):
        if add_months(period.start, months) == period.end:
            return months
    raise InsufficientData(f"{period} is not a number of whole months: no rule divides the charge")


def _volume(charge: VolumeCharge, usage: Usage) -> BillLine:
    volume = usage.volume
    return _charged(
        charge, quantity=volume.kgal, unit="kgal", rate=charge.per_kgal, working=volume.working
    )


def _excess(
    charge: StrengthExcess,
    usage: Usage,
    factor: Decimal,
    normal: Mapping[Parameter, NormalStrength],
) -> BillLine:
    """Pounds above normal strength: strictly above, and never a credit below it."""
    found, allowed = usage.strengths.get(charge.parameter), normal.get(charge.parameter)
    name = label(charge.parameter)
    if found is None:
        raise InsufficientData(f"{name}: no strength of the period")
    if allowed is None:
        raise InsufficientData(f"{name}: the ordinance sets no normal strength on that day")
    mg = usage.volume.million_gallons
    excess = max(found.mg_l - allowed.mg_l, Decimal(0))
    pounds = load_lb(mg_l=excess, million_gallons=mg, pound_factor=factor)
    return _charged(
        charge,
        quantity=pounds,
        unit="lb",
        rate=charge.per_lb,
        working=(*found.working, *_excess_words(found.mg_l, allowed, excess=excess),
                 f"{number(excess)} mg/L × {number(mg)} MG × {factor} = {number(pounds)} lb"),
        sources=found.sources,
        samples=found.samples,
    )  # fmt: skip


def _excess_words(found: Decimal, allowed: NormalStrength, *, excess: Decimal) -> tuple[str, ...]:
    if excess == 0:
        return (
            f"{number(found)} mg/L is not above {number(allowed.mg_l)} mg/L, normal domestic "
            f"strength ({allowed.citation}): nothing to pay, no credit",
        )
    return (
        f"{number(found)} mg/L − {number(allowed.mg_l)} mg/L = {number(excess)} mg/L above normal "
        f"domestic strength ({allowed.citation})",
    )


def due_on(due: Due, period: Period, billed_on: date) -> date:
    """The last day to pay without penalty; never before the printed date."""
    last_day = period.end - timedelta(days=1)
    start = billed_on if due.counted_from == "bill_date" else last_day
    day = max(start + timedelta(days=due.days), billed_on)
    while due.roll == "weekend" and day.weekday() >= _SATURDAY:
        day += timedelta(days=1)
    return day
