"""A document of papers: permits, orders, agreements, values of the program, approvals, as YAML."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from compliance.errors import InputError
from compliance.model import parameters, units
from compliance.model.control import (
    Approval,
    Control,
    ControlKind,
    ControlLimit,
    Document,
    SamplingDuty,
    UserClass,
)
from compliance.rules.control import default_end
from compliance.rules.schema import Number

KEYS = {
    "permits": ControlKind.PERMIT,
    "orders": ControlKind.ORDER,
    "agreements": ControlKind.AGREEMENT,
    "screening_values": ControlKind.SCREENING,
    "notification_limits": ControlKind.NOTIFICATION,
}
"""The lists that a document may hold, beside ``approvals``."""
_RATES = {"rate", "rates", "tariff", "surcharge", "discount"}

Text = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]*$")]
Long = Annotated[str, Field(min_length=8, max_length=2000, pattern=r"^[^\x00]*$")]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperDocument(_Document):
    """The paper itself: its name and the SHA-256 of its bytes."""

    name: Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class LimitDocument(_Document):
    """A bound; numbers stand in quotes. Without a point it holds at each of the user's."""

    parameter: Text
    unit: Text
    at_least: Number | None = None
    at_most: Number | None = None
    basis: Text = "instantaneous"
    point: Text | None = None
    part: Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f]*$")] = ""
    sample_type: tuple[Text, ...] = ()
    enforceable: bool = True

    @field_validator("sample_type", mode="before")
    @classmethod
    def _one_or_more(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given


class SamplingDocument(_Document):
    """Samples asked for; by: who takes them."""

    parameter: Text
    sample_type: Text
    frequency: Text
    by: Text
    point: Text | None = None


class ControlDocument(_Document):
    """A permit, an order, an agreement, or values of the program."""

    number: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f]*$")]
    user: Text
    effective: date
    ended: date | None = None
    user_class: UserClass | None = Field(default=None, alias="class")
    issued_by: Text
    office: Text
    document: PaperDocument | None = None
    limits: tuple[LimitDocument, ...] = ()
    sampling: tuple[SamplingDocument, ...] = ()
    conditions: tuple[Long, ...] = ()
    note: Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")] = ""


class ApprovalDocument(_Document):
    """A Director's approval: one rule, one user, up to a value, for a time (else a year)."""

    rule: Text
    user: Text
    effective: date
    ended: date | None = None
    at_least: Number | None = None
    at_most: Number | None = None
    unit: Text | None = None
    author: Text
    office: Text
    reason: Long
    document: PaperDocument | None = None


class PapersDocument(_Document):
    """What ``pretreat import`` reads of papers."""

    permits: tuple[ControlDocument, ...] = ()
    orders: tuple[ControlDocument, ...] = ()
    agreements: tuple[ControlDocument, ...] = ()
    screening_values: tuple[ControlDocument, ...] = ()
    notification_limits: tuple[ControlDocument, ...] = ()
    approvals: tuple[ApprovalDocument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """A document as values."""

    controls: tuple[Control, ...]
    approvals: tuple[Approval, ...]


def is_papers(text: str) -> bool:
    """Whether a YAML text is a document of papers, and not one of a site."""
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and bool(found.keys() & {*KEYS, "approvals"})


def parse(text: str, *, file: str) -> Papers:
    """Read a document of papers.

    Raises: InputError in one sentence: file, place, what was found and what was expected.
    """
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{file}{where}: this is not YAML; check indentation and quotes") from None
    if not isinstance(found, dict):
        raise InputError(f"{file}: found no papers; expected lists such as permits, approvals")
    _refuse_rates(found, file)
    try:
        document = PapersDocument.model_validate(found)
    except ValidationError as error:
        raise InputError(_sentence(error, file)) from None
    try:
        return _values(document)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _refuse_rates(found: dict[str, Any], file: str) -> None:
    for one in found.get("agreements") or ():
        if isinstance(one, dict) and (given := sorted(one.keys() & _RATES)):
            raise InputError(
                f"{file}, agreement {one.get('number')}: it names {given[0]}; an agreement leaves "
                "rates and tariff as they are: remove it"
            )


def _sentence(error: ValidationError, file: str) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{file}: {place} is missing; write it"
    if first["type"] == "extra_forbidden":
        return f"{file}: {place} is not known here; correct its spelling or remove it"
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{file}: {place} is {str(first['input'])[:60]!r}: {said[0].lower()}{said[1:]}"


def _values(document: PapersDocument) -> Papers:
    return Papers(
        controls=tuple(
            _control(kind, one) for key, kind in KEYS.items() for one in getattr(document, key)
        ),
        approvals=tuple(_approval(one) for one in document.approvals),
    )


def _control(kind: ControlKind, one: ControlDocument) -> Control:
    return Control(
        kind=kind,
        number=one.number,
        user=one.user,
        user_class=one.user_class,
        effective=one.effective,
        ended=one.ended,
        issued_by=one.issued_by,
        office=one.office,
        document=_paper(one.document),
        limits=tuple(_limit(each) for each in one.limits),
        sampling=tuple(_duty(each) for each in one.sampling),
        conditions=one.conditions,
        note=one.note,
    )


def _limit(one: LimitDocument) -> ControlLimit:
    return ControlLimit(
        point=one.point,
        part=one.part,
        parameter=parameters.parameter(one.parameter),
        basis=one.basis,
        at_least=one.at_least,
        at_most=one.at_most,
        unit=units.unit(one.unit),
        sample_types=one.sample_type,
        enforceable=one.enforceable,
    )


def _duty(one: SamplingDocument) -> SamplingDuty:
    return SamplingDuty(
        point=one.point,
        parameter=parameters.parameter(one.parameter),
        sample_type=one.sample_type,
        frequency=one.frequency,
        by=one.by,
    )


def _approval(one: ApprovalDocument) -> Approval:
    return Approval(
        rule_id=one.rule,
        user=one.user,
        at_least=one.at_least,
        at_most=one.at_most,
        unit=units.unit(one.unit) if one.unit else None,
        since=one.effective,
        until=one.ended or default_end(one.effective),
        author=one.author,
        office=one.office,
        reason=one.reason.strip(),
        document=_paper(one.document),
    )


def _paper(one: PaperDocument | None) -> Document | None:
    return None if one is None else Document(name=one.name, sha256=one.sha256)
