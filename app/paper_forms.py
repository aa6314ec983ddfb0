"""Forms for papers that bind users, as people fill them in, and for approvals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from itertools import zip_longest
from typing import TypeVar

from compliance.errors import InputError
from compliance.model import parameters, units
from compliance.model.control import (
    Approval,
    Control,
    ControlKind,
    ControlLimit,
    SamplingDuty,
    UserClass,
)
from compliance.model.units import Unit
from compliance.rules.control import default_end

LIMIT_LINES, SAMPLING_LINES = 6, 2
"""A form offers so many lines at first, and two more than are filled."""
MOST_LINES = 60
_NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,12})?", re.ASCII)
A = TypeVar("A")


@dataclass(kw_only=True)
class LimitLine:
    """A line for a limit as it was typed."""

    part: str = ""
    point: str = ""
    parameter: str = ""
    basis: str = "instantaneous"
    low: str = ""
    high: str = ""
    unit: str = ""
    sample: str = ""
    force: str = "enforceable"

    @property
    def is_blank(self) -> bool:
        """Whether nothing was typed into it."""
        return not (self.part + self.parameter + self.low + self.high + self.unit).strip()


@dataclass(kw_only=True)
class DutyLine:
    """A line for samples that a paper asks for, as it was typed."""

    point: str = ""
    parameter: str = ""
    sample: str = ""
    frequency: str = ""
    by: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was typed into it."""
        return not (self.parameter + self.frequency + self.by).strip()


@dataclass(kw_only=True)
class _Form:
    faults: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, read: Callable[[], A]) -> A | None:
        """What is read; None, with the fault of a field, where it cannot be."""
        try:
            return read()
        except (InputError, ValueError) as error:
            self.faults[name] = str(error)
            return None

    def needed(self, name: str, written: str, what: str) -> str:
        """A field that may not be empty."""
        if not written.strip():
            self.faults[name] = f"Write {what}."
        return written.strip()


@dataclass(kw_only=True)
class PaperForm(_Form):
    """A permit, an order, an agreement or values of the program, as typed."""

    kind: str = "permit"
    number: str = ""
    user_class: str = ""
    effective: str = ""
    ended: str = ""
    issued_by: str = ""
    office: str = ""
    conditions: Sequence[str] = ("", "", "")
    note: str = ""
    limits: Sequence[LimitLine] = ()
    duties: Sequence[DutyLine] = ()

    def control(self, user: str) -> Control | None:
        """The paper it describes, or None with the faults."""
        kind = self.take("kind", lambda: _chosen(ControlKind, self.kind, "what sort of paper"))
        user_class = self.take("user_class", lambda: _class(self.user_class))
        begin = self.take("effective", lambda: day(self.effective))
        end = self.take("ended", lambda: day(self.ended) if self.ended.strip() else None)
        number = self.needed("number", self.number, "its number, as it is printed")
        issued_by = self.needed("issued_by", self.issued_by, "who issued it")
        office = self.needed("office", self.office, "the office in which it was issued")
        limits = [self._limit(n, one) for n, one in enumerate(self.limits, 1) if not one.is_blank]
        duties = [self._duty(n, one) for n, one in enumerate(self.duties, 1) if not one.is_blank]
        if self.faults or kind is None or begin is None:
            return None
        return Control(
            kind=kind,
            number=number,
            user=user,
            user_class=user_class,
            effective=begin,
            ended=end,
            issued_by=issued_by,
            office=office,
            document=None,
            limits=tuple(one for one in limits if one),
            sampling=tuple(one for one in duties if one),
            conditions=tuple(one.strip() for one in self.conditions if one.strip()),
            note=self.note.strip(),
        )

    def _limit(self, line: int, one: LimitLine) -> ControlLimit | None:
        return self.take(
            f"limit-{line}",
            lambda: ControlLimit(
                point=one.point.strip() or None,
                part=one.part.strip(),
                parameter=parameters.parameter(one.parameter),
                basis=one.basis,
                at_least=number(one.low),
                at_most=number(one.high),
                unit=units.unit(one.unit),
                sample_types=(one.sample,) if one.sample else (),
                enforceable=one.force == "enforceable",
            ),
        )

    def _duty(self, line: int, one: DutyLine) -> SamplingDuty | None:
        return self.take(
            f"duty-{line}",
            lambda: SamplingDuty(
                point=one.point.strip() or None,
                parameter=parameters.parameter(one.parameter),
                sample_type=one.sample.strip(),
                frequency=one.frequency.strip(),
                by=one.by.strip(),
            ),
        )


@dataclass(kw_only=True)
class ApprovalForm(_Form):
    """An approval as typed."""

    rule: str = ""
    low: str = ""
    high: str = ""
    effective: str = ""
    ended: str = ""
    author: str = ""
    office: str = ""
    reason: str = ""

    def approval(self, user: str, unit: Unit | None) -> Approval | None:
        """The approval it describes, or None with the faults. unit: of the rule chosen."""
        begin = self.take("effective", lambda: day(self.effective))
        end = self.take("ended", lambda: day(self.ended) if self.ended.strip() else None)
        low = self.take("low", lambda: number(self.low))
        high = self.take("high", lambda: number(self.high))
        rule = self.needed("rule", self.rule, "which rule it lifts")
        author = self.needed("author", self.author, "who approves")
        office = self.needed("office", self.office, "the office in which it is approved")
        if len(self.reason.strip()) < 8:
            self.faults["reason"] = "Write at least 8 characters: it is read at a hearing."
        if self.faults or begin is None:
            return None
        return Approval(
            rule_id=rule,
            user=user,
            at_least=low,
            at_most=high,
            unit=unit,
            since=begin,
            until=end or default_end(begin),
            author=author,
            office=office,
            reason=self.reason.strip(),
            document=None,
        )


def limit_lines(columns: Sequence[Sequence[str] | None]) -> list[LimitLine]:
    """Lines from what a form sent of each field, in the order of ``LimitLine``."""
    return [LimitLine(**_named(LimitLine, row)) for row in _rows(columns)]


def duty_lines(columns: Sequence[Sequence[str] | None]) -> list[DutyLine]:
    """Lines from what a form sent of each field, in the order of ``DutyLine``."""
    return [DutyLine(**_named(DutyLine, row)) for row in _rows(columns)]


def padded(lines: Sequence[A], blank: Callable[[], A], least: int) -> list[A]:
    """Lines with empty ones after them: two more, and ``least`` at least."""
    return [*lines, *(blank() for _ in range(max(2, least - len(lines))))]


def day(written: str) -> date:
    """A day as it was typed. Raises: InputError."""
    try:
        return date.fromisoformat(written.strip()[:20])
    except ValueError:
        raise InputError(
            f"Found {written.strip()[:20]!r}, expected a day such as 2026-01-31."
        ) from None


def number(written: str) -> Decimal | None:
    """A number as it was typed; None where the field is empty. Raises: InputError."""
    text = written.strip()
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise InputError(f"Found {text[:20]!r}, expected a plain number such as 2.61.")
    return Decimal(text)


def _class(written: str) -> UserClass | None:
    return _chosen(UserClass, written, "a class of user") if written else None


E_ = TypeVar("E_", ControlKind, UserClass)
"""One of the closed sets that a form offers."""


def _chosen(of: type[E_], written: str, what: str) -> E_:
    try:
        return of(written)
    except ValueError:
        raise InputError(f"Choose {what}.") from None


def _rows(columns: Sequence[Sequence[str] | None]) -> list[tuple[str, ...]]:
    filled = [list(column or ())[:MOST_LINES] for column in columns]
    return list(zip_longest(*filled, fillvalue=""))


def _named(of: type[LimitLine | DutyLine], row: Sequence[str]) -> dict[str, str]:
    return dict(zip((one.name for one in fields(of)), row, strict=True))
