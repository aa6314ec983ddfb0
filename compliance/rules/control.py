"""Papers as limit rules, so that a permit is judged by the same path as the ordinance; approvals.

A permit's limit becomes ``permit.NUMBER.PARAMETER[.BASIS][.at_POINT]``: the basis is left out where
it is instantaneous, the point where the limit holds at each of the user's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from compliance.errors import InputError
from compliance.model.control import (
    APPROVAL_MONTHS,
    PERMIT_YEARS,
    Approval,
    ApprovalOnFile,
    Control,
    ControlKind,
    ControlLimit,
    slug,
)
from compliance.model.findings import Authority, Side
from compliance.model.parameters import CONCENTRATIONS, UNIT_KIND, Parameter, label
from compliance.model.periods import FIRST_YEAR, LAST_YEAR, add_months
from compliance.model.units import dimension
from compliance.rules.rulings import content
from compliance.rules.schema import Basis, LimitRule, LimitVersion, Rule, SampleSource

AUTHORITY = {
    ControlKind.PERMIT: Authority.PERMIT,
    ControlKind.ORDER: Authority.DIRECTOR,
    ControlKind.AGREEMENT: Authority.AGREEMENT,
    ControlKind.SCREENING: Authority.PROGRAM,
    ControlKind.NOTIFICATION: Authority.PROGRAM,
}
CALLED = {
    ControlKind.PERMIT: "permit",
    ControlKind.ORDER: "order",
    ControlKind.AGREEMENT: "special agreement",
    ControlKind.SCREENING: "screening value of the program",
    ControlKind.NOTIFICATION: "notification limit",
}
CONDITIONS = (
    "no impairment of the sewerage works",
    "no extra cost without recompense",
    "all rates and provisions of the chapter are kept to",
)
"""What a special agreement rests on; each is recorded with how it was found to be met."""
_SHOWN_BY = {Parameter.PETROLEUM_OIL: (Parameter.OIL_AND_GREASE,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A limit of a paper as a rule. point: None at each of the user's.

    mark: what judging depends on, the same for two rules that judge alike.
    """

    rule: LimitRule
    kind: ControlKind
    number: str
    point: str | None
    mark: str

    def binds(self, point: str) -> bool:
        """Whether it holds at a point of its user."""
        return self.point in (None, point)


def is_control(rule_id: str) -> bool:
    """Whether a rule is that of a paper, and not of a rulebook."""
    return rule_id.split(".", maxsplit=1)[0] in set(ControlKind)


def bindings(versions: Sequence[Control]) -> tuple[Binding, ...]:
    """The limits of one paper from all of its versions, oldest first.

    A later version holds from its own first day on, the one before up to there; one that begins no
    later takes its place altogether. A limit judged otherwise (another unit, sample type, or force)
    than in the version before is a rule of its own, with the version's number at its end.
    """
    names: dict[tuple[str, object], str] = {}
    taken: dict[str, list[LimitVersion]] = {}
    newest: dict[str, tuple[Control, ControlLimit]] = {}
    for index, control in enumerate(versions):
        span = _span(versions, index)
        for limit in control.limits:
            name = _name(names, control, limit, version=index + 1)
            newest[name] = (control, limit)
            held = taken.setdefault(name, [])
            if span is not None:
                held.append(_version(limit, *span))
    return tuple(_binding(name, *newest[name], held) for name, held in taken.items())


def _span(versions: Sequence[Control], index: int) -> tuple[date, date | None] | None:
    """The days on which a version holds; None where later ones took its place."""
    begin = versions[index].effective
    ends = [one.effective for one in versions[index + 1 :]]
    if (own := versions[index].ended) is not None:
        ends.append(own)
    end = min(ends, default=None)
    return None if end is not None and end <= begin else (begin, end)


def _name(
    names: dict[tuple[str, object], str], control: Control, limit: ControlLimit, *, version: int
) -> str:
    """A rule's id: the plain one for the first way of judging, else with the version."""
    plain = rule_id(control, limit)
    frame = (limit.unit, frozenset(limit.sample_types), limit.enforceable)
    if (plain, frame) not in names:
        is_first = all(known != plain for known, _ in names)
        names[(plain, frame)] = plain if is_first else f"{plain}.v{version}"
    return names[(plain, frame)]


def rule_id(control: Control, limit: ControlLimit) -> str:
    """The id of the rule that a limit of a paper becomes."""
    parts = [control.kind.value, control.key, limit.parameter.value]
    if limit.basis != Basis.INSTANTANEOUS.value:
        parts.append(limit.basis)
    if limit.point is not None:
        parts.append(f"at_{slug(limit.point)}")
    return ".".join(parts)


def _version(limit: ControlLimit, begin: date, end: date | None) -> LimitVersion:
    low, high = (None if n is None else str(n) for n in (limit.at_least, limit.at_most))
    return LimitVersion.model_validate(
        {"effective": begin, "ended": end, "at_least": low, "at_most": high}
    )


def _binding(
    name: str, control: Control, limit: ControlLimit, versions: Sequence[LimitVersion]
) -> Binding:
    sources = tuple(SampleSource(one) for one in limit.sample_types) or tuple(SampleSource)
    accuses = limit.enforceable and AUTHORITY[control.kind] is not Authority.PROGRAM
    rule = LimitRule(
        id=name,
        citation=citation(control, limit),
        says=says(limit),
        anchor=None,
        authority=AUTHORITY[control.kind],
        parameter=limit.parameter,
        unit=limit.unit,
        basis=Basis(limit.basis),
        enforceable_on=sources if accuses else (),
        screened_on=() if accuses else sources,
        bounded_by=_SHOWN_BY.get(limit.parameter, ()),
        versions=tuple(versions),
    )
    return Binding(
        rule=rule,
        kind=control.kind,
        number=control.number,
        point=limit.point,
        mark=json.dumps({**content(rule), "id": "", "authority": ""}, sort_keys=True),
    )


def citation(control: Control, limit: ControlLimit) -> str:
    """Where a limit stands: ``permit P-12, part 2.1``."""
    part = f", {limit.part}" if limit.part else ""
    return f"{CALLED[control.kind]} {control.number}{part}"


def says(limit: ControlLimit) -> str:
    """A limit in a sentence."""
    low, high = limit.at_least, limit.at_most
    if low is not None and high is not None:
        bounds = f"from {low} to {high} {limit.unit.value}; both ends comply"
    elif high is not None:
        bounds = f"not over {high} {limit.unit.value}"
    else:
        bounds = f"not under {low} {limit.unit.value}"
    where = "at each point" if limit.point is None else f"at {limit.point}"
    what = f"{label(limit.parameter)} {where}, {limit.basis.replace('_', ' ')}: {bounds}."
    return what if limit.enforceable else f"{what} Not enforceable: it screens only."


def check(control: Control) -> None:
    """Refuse a paper that cannot be. Raises: InputError in one sentence, without the file."""
    name = f"{CALLED[control.kind]} {control.number}"
    if not control.key:
        raise InputError(f"{name}: its number has no letter or digit; write it as it is printed")
    _check_days(name, control.effective, control.ended)
    if control.kind is ControlKind.PERMIT:
        _check_permit(control, name)
    if control.kind is ControlKind.AGREEMENT:
        _check_conditions(control, name)
    seen: set[str] = set()
    for limit in control.limits:
        _check_limit(limit, name)
        if (known := rule_id(control, limit)) in seen:
            raise InputError(f"{name} sets {known} twice; write each limit once")
        seen.add(known)


def _check_days(name: str, begin: date, end: date | None) -> None:
    for day in (begin, end):
        if day is not None and not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise InputError(f"{name}: found the year {day.year}; expected one of these records")
    if end is not None and end <= begin:
        raise InputError(f"{name} ends on {end}, expected a day after it begins ({begin})")


def _check_permit(control: Control, name: str) -> None:
    latest = add_months(control.effective, 12 * PERMIT_YEARS)
    if control.user_class is None:
        raise InputError(f"{name} has no class; expected SIU, CIU, NSCIU, middle tier or none")
    if control.ended is None or control.ended > latest:
        raise InputError(
            f"{name} ends {f'on {control.ended}' if control.ended else 'never'}; expected a day up "
            f"to {latest}: a permit lasts {PERMIT_YEARS} years at most"
        )


def _check_conditions(control: Control, name: str) -> None:
    if len([one for one in control.conditions if one.strip()]) != len(CONDITIONS):
        raise InputError(
            f"{name} records {len(control.conditions)} conditions, expected three, each with how "
            f"it was found to be met: {'; '.join(CONDITIONS)}"
        )


def _check_limit(limit: ControlLimit, name: str) -> None:
    place = f"{name}, {limit.part or 'a limit'}, {limit.parameter.value}"
    low, high = limit.at_least, limit.at_most
    for bound in (low, high):
        _check_number(place, bound)
    if low is None and high is None:
        raise InputError(f"{place}: there is neither at_least nor at_most; write one of them")
    if low is not None and high is not None and low > high:
        raise InputError(f"{place}: at_least {low} is over at_most {high}; exchange them")
    measures = dimension(limit.unit)
    wanted = UNIT_KIND.get(limit.parameter, "concentration")
    is_mass = limit.parameter in CONCENTRATIONS and measures in ("load", "mass")
    if measures != wanted and not is_mass:
        raise InputError(
            f"{place}: {limit.unit.value} measures {measures}; expected a unit of {wanted}"
        )
    for field, given, known in (
        ("basis", (limit.basis,), [one.value for one in Basis]),
        ("sample type", limit.sample_types, [one.value for one in SampleSource]),
    ):
        for one in given:
            if one not in known:
                raise InputError(f"{place}: {field} is {one!r}, expected {', '.join(known)}")


def _check_number(place: str, bound: Decimal | None) -> None:
    if bound is None:
        return
    exponent = bound.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -12 or bound.adjusted() > 12:
        raise InputError(f"{place}: {bound} is no limit; expected a plain number such as 2.61")


def refusal(rule: Rule) -> str | None:
    """Why no approval can lift a rule; None where its text gives the power."""
    if rule.authority is not Authority.ORDINANCE:
        return f"its authority is {rule.authority.value}: no local act lifts it"
    parameter = getattr(rule, "parameter", None)
    if parameter is Parameter.PH or not getattr(rule, "lifted_by_approval", False):
        return "its text gives no power to approve more"
    return None


def check_approval(approval: Approval, rule: Rule) -> None:
    """Refuse an approval that cannot be. Raises: InputError in one sentence."""
    name = f"approval of {approval.rule_id} for {approval.user}"
    if (why := refusal(rule)) is not None:
        raise InputError(f"{name}: {rule.citation} cannot be lifted: {why}")
    _check_days(name, approval.since, approval.until)
    for bound in (approval.at_least, approval.at_most):
        _check_number(name, bound)
    if not isinstance(rule, LimitRule):
        return
    if approval.at_least is None and approval.at_most is None:
        raise InputError(f"{name} names no value; write up to where it reaches, in quotes")
    if approval.unit is not rule.unit:
        given = approval.unit.value if approval.unit else "missing"
        raise InputError(f"{name}: the unit is {given}, expected {rule.unit.value} as in the rule")


def default_end(since: date) -> date:
    """When an approval ends that names no day."""
    return add_months(since, APPROVAL_MONTHS)


def lifts(  # noqa: PLR0913 - what a fact says
    one: ApprovalOnFile, rule_id: str, *, side: Side, worst: Decimal, first: date, last: date
) -> bool:
    """Whether an approval covers all of a fact: its rule, its days, its worst value.

    first, last: civil days at the plant. What lies beyond the approved value is not covered.
    """
    approval = one.approval
    if approval.rule_id != rule_id or not (approval.since <= first and last < one.until):
        return False
    if side is Side.ABOVE:
        return approval.at_most is not None and worst <= approval.at_most
    return approval.at_least is not None and worst >= approval.at_least


def lifting(  # noqa: PLR0913 - what a fact says
    approvals: Iterable[ApprovalOnFile],
    rule_id: str,
    *,
    side: Side,
    worst: Decimal,
    first: date,
    last: date,
) -> ApprovalOnFile | None:
    """The first approval that covers a fact; None where none does."""
    for one in approvals:
        if lifts(one, rule_id, side=side, worst=worst, first=first, last=last):
            return one
    return None
