"""What binds one user beside the ordinance: permits, orders, agreements, the program's own values,
and the approvals that lift one rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from compliance.model.parameters import Parameter
from compliance.model.units import Unit

PERMIT_YEARS = 5
"""A permit lasts no longer. Source: 40 CFR 403.8(f)(1)(iii)(B)(1)."""
APPROVAL_MONTHS = 12
"""An approval that names no end lasts so long."""


class ControlKind(StrEnum):
    """What sort of paper, or number of the program, binds a user."""

    PERMIT = "permit"
    ORDER = "order"
    AGREEMENT = "agreement"
    SCREENING = "screening"  # a value of the program: it accuses nobody
    NOTIFICATION = "notification"  # warns before a limit is reached


class UserClass(StrEnum):
    """How a permit classes its user."""

    SIU = "SIU"
    CIU = "CIU"
    NSCIU = "NSCIU"
    MIDDLE_TIER = "middle tier"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A paper by its name and the SHA-256 of its bytes, in hexadecimal."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlLimit:
    """A bound that a paper sets, at one point or (None) at each of the user's.

    part: where in the paper it stands; basis: as rulebooks spell it; sample_types: what it is
    judged on (meter, grab, composite), all where empty; enforceable: else it only screens.
    """

    point: str | None
    part: str
    parameter: Parameter
    basis: str
    at_least: Decimal | None
    at_most: Decimal | None
    unit: Unit
    sample_types: tuple[str, ...]
    enforceable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDuty:
    """Samples that a paper asks for; by: who takes them."""

    point: str | None
    parameter: Parameter
    sample_type: str
    frequency: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One version of a paper, in force on ``[effective, ended)``; user: its slug.

    conditions: of a special agreement, how each of its three was found to be met.
    """

    kind: ControlKind
    number: str
    user: str
    user_class: UserClass | None
    effective: date
    ended: date | None
    issued_by: str
    office: str
    document: Document | None
    limits: tuple[ControlLimit, ...]
    sampling: tuple[SamplingDuty, ...] = ()
    conditions: tuple[str, ...] = ()
    note: str = ""

    @property
    def key(self) -> str:
        """Its number as rule ids spell it."""
        return slug(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnFile:
    """A stored version of a paper: 1 is the first. city_id, user_id: whom it binds."""

    id: int
    version: int
    city_id: int
    user_id: int
    control: Control
    entered_by: str
    entered_at: datetime
    has_file: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What a Director allows one user under one rule, on ``[since, until)``.

    at_least, at_most: in ``unit``, up to where it reaches; none for a rule without a number.
    """

    rule_id: str
    user: str
    at_least: Decimal | None
    at_most: Decimal | None
    unit: Unit | None
    since: date
    until: date
    author: str
    office: str
    reason: str
    document: Document | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalOnFile:
    """A stored approval. withdrawn_on: from that day on it lifts nothing any more."""

    number: int
    user_id: int
    approval: Approval
    entered_by: str
    entered_at: datetime
    has_file: bool
    withdrawn_on: date | None = None
    withdrawn_by: str | None = None
    withdrawn_why: str | None = None

    @property
    def until(self) -> date:
        """The first day on which it lifts nothing."""
        end = self.approval.until
        return end if self.withdrawn_on is None else min(end, self.withdrawn_on)

    @property
    def said(self) -> str:
        """By whom it was given, for the record of an exceedance."""
        one = self.approval
        return f"approved by {one.author}, {one.office} (approval {self.number})"


def slug(text: str) -> str:
    """Text as a part of a rule's id: small letters, digits, underlines."""
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in text.casefold())
    return "_".join(kept.split())


def to_json(control: Control) -> dict[str, Any]:
    """A paper as JSON holds it: numbers and days as text."""
    return {
        "kind": control.kind.value,
        "number": control.number,
        "user": control.user,
        "user_class": control.user_class.value if control.user_class else None,
        "effective": control.effective.isoformat(),
        "ended": control.ended.isoformat() if control.ended else None,
        "issued_by": control.issued_by,
        "office": control.office,
        "document": _document(control.document),
        "limits": [_limit(one) for one in control.limits],
        "sampling": [_duty(one) for one in control.sampling],
        "conditions": list(control.conditions),
        "note": control.note,
    }


def from_json(found: Mapping[str, Any]) -> Control:
    """The paper that ``to_json`` wrote."""
    document = found["document"]
    return Control(
        kind=ControlKind(found["kind"]),
        number=found["number"],
        user=found["user"],
        user_class=UserClass(found["user_class"]) if found["user_class"] else None,
        effective=date.fromisoformat(found["effective"]),
        ended=date.fromisoformat(found["ended"]) if found["ended"] else None,
        issued_by=found["issued_by"],
        office=found["office"],
        document=Document(**document) if document else None,
        limits=tuple(_limit_from(one) for one in found["limits"]),
        sampling=tuple(
            SamplingDuty(**{**one, "parameter": Parameter(one["parameter"])})
            for one in found["sampling"]
        ),
        conditions=tuple(found["conditions"]),
        note=found["note"],
    )


def _document(one: Document | None) -> dict[str, str] | None:
    return None if one is None else {"name": one.name, "sha256": one.sha256}


def _limit(one: ControlLimit) -> dict[str, Any]:
    return {
        "point": one.point,
        "part": one.part,
        "parameter": one.parameter.value,
        "basis": one.basis,
        "at_least": None if one.at_least is None else f"{one.at_least:f}",
        "at_most": None if one.at_most is None else f"{one.at_most:f}",
        "unit": one.unit.value,
        "sample_types": list(one.sample_types),
        "enforceable": one.enforceable,
    }


def _limit_from(one: Mapping[str, Any]) -> ControlLimit:
    low, high = one["at_least"], one["at_most"]
    return ControlLimit(
        point=one["point"],
        part=one["part"],
        parameter=Parameter(one["parameter"]),
        basis=one["basis"],
        at_least=None if low is None else Decimal(low),
        at_most=None if high is None else Decimal(high),
        unit=Unit(one["unit"]),
        sample_types=tuple(one["sample_types"]),
        enforceable=one["enforceable"],
    )


def _duty(one: SamplingDuty) -> dict[str, Any]:
    return {
        "point": one.point,
        "parameter": one.parameter.value,
        "sample_type": one.sample_type,
        "frequency": one.frequency,
        "by": one.by,
    }
