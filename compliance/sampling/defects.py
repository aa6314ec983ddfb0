"""What is wrong with how a sample was taken, kept or analysed, and what its result may be used for.

A defective result counts neither for nor against anybody by itself; it is kept and shown to both
sides. Against the user it is used only with a person's written reason why the defect cannot have
raised it, and for a bill never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from zoneinfo import ZoneInfo

from compliance.errors import InputError
from compliance.model.parameters import label
from compliance.model.periods import local_day
from compliance.model.samples import Result, Sample, SampleType
from compliance.rules.methods import Method, method_of, method_table

SHORTEST_REASON = 8


class Fault(StrEnum):
    """What sort of defect."""

    SAMPLE_TYPE = "sample_type"
    HOLD = "hold"
    TEMPERATURE = "temperature"
    METHOD = "method"


class Use(StrEnum):
    """What a result is used for."""

    SHOWS_COMPLIANCE = "shows_compliance"
    AGAINST_THE_USER = "against_the_user"
    BILL = "bill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What a laboratory says of a sample's way to its analysis; None where it does not say.

    analysed_at: an aware instant, or a day alone. received_c: degrees Celsius on receipt.
    """

    analysed_at: datetime | date | None = None
    received_c: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One defect in words, with the text that asks for more."""

    fault: Fault
    says: str
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What is wrong with a result, and what could not be looked at because nobody says it."""

    defects: tuple[Defect, ...]
    unknown: tuple[str, ...]


def examine(sample: Sample, result: Result, handling: Handling, *, zone: ZoneInfo) -> Examined:
    """The defects of one result, by the table of its parameter.

    A hold runs from the end of collection: of a composite its last aliquot. Where only days are
    known the result is late only if it was on every reading of them. zone: of the plant.
    """
    asked = method_of(result.parameter)
    if asked is None:
        name = label(result.parameter)
        return Examined(defects=(), unknown=(f"no table says how {name} is kept",))
    found, unknown = [], []
    for part in (
        _type(sample, result, asked),
        _hold(sample, result, asked, handling, zone=zone),
        _temperature(asked, handling),
        _method(result, asked),
    ):
        if isinstance(part, Defect):
            found.append(part)
        elif part:
            unknown.append(part)
    return Examined(defects=tuple(found), unknown=tuple(unknown))


def _type(sample: Sample, result: Result, asked: Method) -> Defect | str | None:
    if not asked.grab_only or sample.sample_type is SampleType.GRAB:
        return None
    name = label(result.parameter)
    if sample.sample_type is None:
        return f"the sample type is not stated; {name} is taken as a grab"
    return Defect(
        fault=Fault.SAMPLE_TYPE,
        says=f"{name} is taken as a grab, and this is a {sample.sample_type.value}",
        citation=method_table().sources.grab,
    )


def _hold(
    sample: Sample, result: Result, asked: Method, handling: Handling, *, zone: ZoneInfo
) -> Defect | str | None:
    done, end = handling.analysed_at, sample.sampled_to
    if done is None:
        return "the report does not say when it was analysed"
    if end is None:
        return "the sample has no date"
    most = timedelta(hours=float(asked.hours))
    held = _earliest(done, zone) - _latest(end, zone)
    if held <= most:
        return None
    own = "" if asked.confirmed else "; the figure is to be compared with the text"
    late = "over " if not isinstance(done, datetime) or not isinstance(end, datetime) else ""
    return Defect(
        fault=Fault.HOLD,
        says=(
            f"{label(result.parameter)} was analysed {late}{_hours(held)} after the end of the "
            f"sample, and keeps for {_hours(most)}{own}"
        ),
        citation=method_table().sources.hold,
    )


def _earliest(at: datetime | date, zone: ZoneInfo) -> datetime:
    return at if isinstance(at, datetime) else local_day(at, zone).start


def _latest(at: datetime | date, zone: ZoneInfo) -> datetime:
    return at if isinstance(at, datetime) else local_day(at, zone).end


def _hours(length: timedelta) -> str:
    minutes = length // timedelta(minutes=1)
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h" + (f" {rest} min" if rest else "")


def _temperature(asked: Method, handling: Handling) -> Defect | str | None:
    if asked.warmest_c is None or handling.received_c is None:
        return None
    if handling.received_c <= asked.warmest_c:
        return None
    return Defect(
        fault=Fault.TEMPERATURE,
        says=(
            f"the sample came to the laboratory at {handling.received_c} °C, and is kept at most "
            f"at {asked.warmest_c} °C"
        ),
        citation=method_table().sources.hold,
    )


def _method(result: Result, asked: Method) -> Defect | str | None:
    if not asked.methods:
        return None
    if not result.method:
        return "the method is not stated"
    written = " ".join(result.method.split()).casefold()
    if any(word in written for word in asked.methods):
        return None
    return Defect(
        fault=Fault.METHOD,
        says=f"method {result.method[:60]!r} is not one that we know to be approved for it",
        citation=method_table().sources.method,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned:
    """A person's reason why the defects of a result cannot have raised it."""

    reason: str
    by: str
    at: datetime


def reasoned(reason: str, *, by: str, at: datetime) -> Reasoned:
    """A reason as it may be recorded. Raises: InputError for one too short to be read later."""
    if len(reason.strip()) < SHORTEST_REASON:
        raise InputError(
            f"reason: found {reason.strip()!r}; write at least {SHORTEST_REASON} characters: why "
            "the defect cannot have raised the result"
        )
    return Reasoned(reason=reason.strip(), by=by, at=at)


def may_use(defects: Sequence[Defect], use: Use, *, reason: Reasoned | None = None) -> bool:
    """Whether a result with these defects may be used for something."""
    if not defects:
        return True
    return use is Use.AGAINST_THE_USER and reason is not None


def printed(defects: Sequence[Defect], *, reason: Reasoned | None = None) -> tuple[str, ...]:
    """What a finding, or a list of results, prints about the defects of a result."""
    if not defects:
        return ()
    lines = tuple(f"{one.says} ({one.citation})" for one in defects)
    if reason is None:
        return (*lines, "so the result counts neither for nor against by itself")
    return (*lines, f"used against the user by {reason.by}: {reason.reason}")
