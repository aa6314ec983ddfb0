"""A user's half-year counted from what is stored; what a control authority determined, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError, Refused
from compliance.jobs import stack
from compliance.jobs.determine import Paper
from compliance.judging.clean_samples import Outlook, outlooks
from compliance.judging.noncompliance import Tally, only_published, tallies
from compliance.judging.replicates import once
from compliance.judging.snc_rules import rules_of, snc_rule
from compliance.model.findings import Authority
from compliance.model.noncompliance import (
    Bound,
    Limit,
    Measured,
    Said,
    SaidOnFile,
    SncBasis,
    SncRule,
    window_of,
)
from compliance.model.parameters import Parameter
from compliance.model.periods import Period
from compliance.records import audit, noncompliance, samples
from compliance.records.samples import Owner, StoredResult
from compliance.rules.schema import Judge, LimitRule, SampleSource
from compliance.sampling.takings import civil_day

_BASES = {one.value for one in SncBasis}
_AROUND = timedelta(days=93)
"""A composite may last a quarter: samples so near to a window are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One limit's count, and what may become of it. published: it rests on last year's list."""

    tally: Tally
    outlooks: tuple[Outlook, ...]
    published: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfYear:
    """A user's six months: counts, what was determined, and what was left out with the reason."""

    window: Period
    as_of: date
    rule: SncRule
    authority: str
    is_own: bool
    seen: tuple[Seen, ...]
    determined: tuple[SaidOnFile, ...]
    left_out: tuple[str, ...]

    @property
    def last(self) -> date:
        """The window's last day."""
        return self.window.end - timedelta(days=1)

    @property
    def provisional(self) -> bool:
        """Whether the window is not over."""
        return self.as_of < self.last


def half_year(db: Connection, user_id: int, *, as_of: date) -> HalfYear:
    """Count a user's results over the six months that end with the quarter of a day.

    Raises: NotFound.
    """
    owner = samples.owner(db, user_id)
    rule = snc_rule(rules_of(owner.rulebooks), as_of)
    window = window_of(as_of, rule.window_months)
    before = window_of(window.end - timedelta(days=93), rule.window_months)
    zone = ZoneInfo(owner.zone)
    stored = _stored(db, owner, Period(start=before.start, end=window.end), zone)
    limits = tuple(_limits(db, owner))
    usable, left_out = _usable(stored, limits, window, zone)
    seen = []
    for limit, _ in limits:
        mine = usable[limit.source, limit.point]
        now, then = (tallies([limit], mine, rule, span)[0] for span in (window, before))
        seen.append(
            Seen(
                tally=now,
                outlooks=outlooks(now, rule, as_of=as_of),
                published=only_published(now, then),
            )
        )
    authority, city = noncompliance.authority(db, user_id)
    every = noncompliance.of_user(db, user_id)
    return HalfYear(
        window=window,
        as_of=as_of,
        rule=rule,
        authority=authority,
        is_own=authority == city,
        seen=tuple(seen),
        determined=tuple(
            one for one in every if one.said.quarter_end == window.end - timedelta(days=1)
        ),
        left_out=left_out,
    )


def _stored(db: Connection, owner: Owner, days: Period, zone: ZoneInfo) -> tuple[StoredResult, ...]:
    span = days.window(zone)
    around = type(span)(start=span.start - _AROUND, end=span.end + _AROUND)
    return samples.in_window(db, owner.id, around)


def _limits(db: Connection, owner: Owner) -> Iterator[tuple[Limit, LimitRule]]:
    """Each enforceable limit of each point, of books and papers."""
    bound = stack.of(db)
    for point in samples.points(db, owner.id):
        for parameter in Parameter:
            for rule in bound.on_parameter(owner.rulebooks, owner.id, point, parameter):
                if _is_counted(rule):
                    yield _limit(rule, point), rule


def _is_counted(rule: LimitRule) -> bool:
    return (
        rule.basis.value in _BASES
        and rule.judged_by is Judge.PROGRAM
        and rule.authority is not Authority.PROGRAM
        and bool(rule.versions)
    )


def _limit(rule: LimitRule, point: str) -> Limit:
    return Limit(
        point=point,
        parameter=rule.parameter,
        basis=SncBasis(rule.basis.value),
        bounds=tuple(
            Bound(
                at_least=version.at_least,
                at_most=version.at_most,
                unit=rule.unit,
                since=version.effective,
                until=version.ended,
            )
            for version in rule.versions
        ),
        source=rule.id,
        citation=rule.citation,
    )


def _usable(
    stored: tuple[StoredResult, ...],
    limits: tuple[tuple[Limit, LimitRule], ...],
    window: Period,
    zone: ZoneInfo,
) -> tuple[dict[tuple[str, str], tuple[Measured, ...]], tuple[str, ...]]:
    """The results that each limit is counted on, and in words those of the window that are not."""
    found: dict[tuple[str, str], tuple[Measured, ...]] = {}
    left_out: list[str] = []
    for limit, rule in limits:
        chosen: list[tuple[str, Measured]] = []
        for one in stored:
            if one.sample.point != limit.point or one.result.parameter is not limit.parameter:
                continue
            measured = _measured(one, zone)
            if _is_judged(rule, one):
                chosen.append((one.sample.label or "", measured))
            elif window.holds(measured.day):
                left_out.append(_why(rule, one, measured))
        found[limit.source, limit.point] = once(chosen)
    return found, tuple(left_out)


def _is_judged(rule: LimitRule, one: StoredResult) -> bool:
    kind = one.sample.sample_type
    if kind is None:
        return set(rule.enforceable_on) >= {SampleSource.GRAB, SampleSource.COMPOSITE}
    return SampleSource(kind.value) in rule.enforceable_on


def _why(rule: LimitRule, one: StoredResult, measured: Measured) -> str:
    kind = one.sample.sample_type
    given = "a sample of unstated type" if kind is None else f"a {kind.value} sample"
    return (
        f"{measured.source} of {measured.day}, {rule.parameter.value} "
        f"{measured.qualifier}{measured.written} {measured.unit.value}: {given}, which "
        f"{rule.id} is not judged on"
    )


def _measured(one: StoredResult, zone: ZoneInfo) -> Measured:
    sample, result = one.sample, one.result
    taken = sample.sampled_to
    day = one.day or civil_day(sample, zone)
    return Measured(
        taken=taken if taken is not None else day,
        day=day,
        point=str(sample.point),
        parameter=result.parameter,
        qualifier=result.qualifier,
        value=result.value,
        written=result.written,
        unit=result.unit,
        taken_by=sample.taken_by.value.replace("_", " "),
        source=f"sample {sample.label or one.id}",
    )


def check(said: Said, *, is_own: bool, today: date) -> dict[str, str]:
    """What is wrong with which field of a determination; empty where it can be recorded."""
    faults: dict[str, str] = {}
    if said.decided_on > today:
        faults["decided_on"] = "That day has not come yet; write the day of the letter."
    if not said.signed_by.strip():
        faults["signed_by"] = "Write who decided at the control authority."
    if not is_own and not said.reference.strip():
        faults["reference"] = (
            f"{said.authority} determines and not the city: name its letter, by number or subject."
        )
    if len(said.words.strip()) < SHORTEST_REASON:
        faults["words"] = f"Write at least {SHORTEST_REASON} characters: what was determined, why."
    return faults


def record(
    engine: Engine,
    said: Said,
    *,
    user_id: int,
    by: str,
    is_director: bool,
    now: datetime,
    file: Paper | None = None,
) -> int:
    """Write down what the control authority determined; its number.

    by: who enters it, name and office; is_director: whether that person may determine where the
    city itself is the control authority.
    Raises: InputError, Refused, NotFound.
    """
    with engine.begin() as db:
        owner = samples.owner(db, user_id)
        authority, city = noncompliance.authority(db, user_id)
        is_own = authority == city
        if is_own and not is_director and not said.reference.strip():
            raise Refused(f"Here {authority} determines through its director, not you.")
        today = now.astimezone(ZoneInfo(owner.zone)).date()
        faults = check(said, is_own=is_own, today=today)
        if said.authority != authority:
            faults["authority"] = f"The control authority here is {authority}."
        if faults:
            raise InputError(next(iter(faults.values())))
        number = noncompliance.put(
            db,
            said,
            industrial_user_id=user_id,
            entered_by=by,
            now=now,
            document=(file.name, file.sha256, file.content) if file else None,
        )
        _note(db, said, owner, number, by=by, file=file)
    return number


def withdraw(engine: Engine, number: int, *, by: str, why: str, now: datetime) -> None:
    """Take a recorded determination back, as one entered wrongly; it stays to be read.

    Raises: InputError, Refused.
    """
    if len(why.strip()) < SHORTEST_REASON:
        raise InputError(f"Write at least {SHORTEST_REASON} characters: why it is taken back.")
    with engine.begin() as db:
        if not noncompliance.withdraw(db, number, by=by, why=why.strip(), now=now):
            raise Refused(f"Determination {number} is withdrawn already.")
        audit.note(
            db,
            by=by,
            act="withdraw determination of noncompliance",
            subject=f"noncompliance:{number}",
            detail={"why": why.strip()},
        )


def _note(
    db: Connection, said: Said, owner: Owner, number: int, *, by: str, file: Paper | None
) -> None:
    detail = {
        "industrial_user": owner.slug,
        "criterion": said.criterion.value,
        "quarter_end": said.quarter_end,
        "is_snc": said.is_snc,
        "authority": said.authority,
        "decided_on": said.decided_on,
        "signed_by": said.signed_by,
        "reference": said.reference,
        "words": said.words,
        "document": file.name if file else None,
        "document_sha256": file.sha256 if file else None,
    }
    audit.note(
        db,
        by=by,
        act="record determination of noncompliance",
        subject=f"noncompliance:{number}",
        detail=detail,
    )
