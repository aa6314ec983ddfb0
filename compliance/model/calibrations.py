"""Calibrations: what the standards read before and after, the drift, and when the next is due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from compliance.errors import InputError
from compliance.model.parameters import PHYSICAL_RANGE, Parameter
from compliance.model.periods import day_of

MOST_DIGITS = 12
_COLUMNS = ("standard", "before", "after")
_ANYTHING = (-99_999, 999_999)
"""What the display of any instrument can show, in the unit of its channel."""
_BELOW_ZERO = frozenset({Parameter.TEMPERATURE, Parameter.ORP, Parameter.LEVEL, Parameter.VELOCITY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """A standard's own value, and what the instrument read of it before and after adjusting.

    All are decimals as somebody wrote them down, in the channel's unit.
    """

    standard: str
    before: str
    after: str

    @property
    def drift(self) -> Decimal:
        """How far the instrument was off as it was found."""
        return Decimal(self.before) - Decimal(self.standard)


def standard(line: int, *, of: str, before: str, after: str) -> Standard | None:
    """A line of a calibration sheet; None where all of it is blank.

    after: blank where nothing was adjusted; it is then what was read before.
    Raises: InputError naming the line and its field.
    """
    if not (of.strip() or before.strip() or after.strip()):
        return None
    return Standard(
        standard=_decimal(line, "standard", of),
        before=_decimal(line, "before", before),
        after=_decimal(line, "after", after if after.strip() else before),
    )


def _decimal(line: int, field: str, written: str) -> str:
    text = written.strip().replace("−", "-")
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or len(text) > MOST_DIGITS:
        raise InputError(
            f"line {line}, {field}: found {written.strip()[:40]!r}, expected a number such as "
            "7.02; write it as it was read"
        )
    return text


def drift(standards: Sequence[Standard]) -> str:
    """The greatest distance as found, without a sign, as exactly as it was written."""
    return str(max(abs(one.drift) for one in standards))


def refusal(standards: Sequence[Standard], parameter: Parameter) -> str:
    """Why a sheet cannot be one of a parameter's instrument, in a sentence; empty where it can."""
    low, high = _range(parameter)
    known: set[Decimal] = set()
    for one in standards:
        own = Decimal(one.standard)
        if own in known:
            return f"The standard {one.standard} stands there twice; write each once."
        known.add(own)
        if own < 0 and parameter not in _BELOW_ZERO:
            return f"A standard of {one.standard} cannot be; {parameter.value} is not below 0."
        for name, written in zip(_COLUMNS, (one.standard, one.before, one.after), strict=True):
            if not low <= Decimal(written) <= high:
                return (
                    f"Found {name} {written}, expected {low} to {high} for {parameter.value}; "
                    "write it as it was read."
                )
    return ""


def _range(parameter: Parameter) -> tuple[Decimal, Decimal]:
    low, high = PHYSICAL_RANGE.get(parameter, _ANYTHING)
    return Decimal(int(low)), Decimal(int(high))


def due_on(calibrated_at: datetime, days: int, zone: ZoneInfo) -> date:
    """The last civil day at the plant on which a calibration is still good."""
    return day_of(calibrated_at, zone) + timedelta(days=days)


def is_current(at: datetime, calibrated_at: datetime, *, days: int, zone: ZoneInfo) -> bool:
    """Whether a calibration is good at an instant after it: its last day counts in full."""
    return day_of(at, zone) <= due_on(calibrated_at, days, zone)


def nearest(
    calibrated: Iterable[datetime], at: datetime
) -> tuple[datetime | None, datetime | None]:
    """The last calibration at or before an instant, and the first after it."""
    before, after = None, None
    for one in sorted(calibrated):
        if one <= at:
            before = one
        elif after is None:
            after = one
    return before, after
