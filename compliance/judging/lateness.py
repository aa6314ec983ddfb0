"""Milestones and reports that are late enough to count as significant noncompliance.

Source: 40 CFR 403.8(f)(2)(viii)(E) and (F); NR 211.23(1)(j)5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from compliance.judging.noncompliance import MEETS
from compliance.model.noncompliance import Criterion, SncRule


class DutyKind(StrEnum):
    """What was due."""

    MILESTONE = "milestone"
    REPORT = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Something that was due on a day. done: when it was met; None: not yet."""

    kind: DutyKind
    what: str
    due: date
    done: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late a duty is on a day, in days, and whether that meets the arithmetic of SNC."""

    duty: Duty
    days_late: int
    late: bool
    snc: bool
    working: tuple[str, ...]


def lateness(duty: Duty, rule: SncRule, *, as_of: date) -> Lateness:
    """Judge one duty as it stood on a day; what is done after that day is not done yet."""
    done = duty.done if duty.done is not None and duty.done <= as_of else None
    days = max(0, ((done or as_of) - duty.due).days)
    is_milestone = duty.kind is DutyKind.MILESTONE
    most = rule.milestone_days if is_milestone else rule.late_report_days
    met = days > most or (is_milestone and rule.milestone_inclusive and days == most)
    state = f"met on {done}" if done else f"not met by {as_of}"
    counts = f"{most} or more" if is_milestone and rule.milestone_inclusive else f"more than {most}"
    criterion = Criterion.MILESTONE if is_milestone else Criterion.LATE_REPORT
    verdict = MEETS[criterion] if met else "not so late"
    return Lateness(
        duty=duty,
        days_late=days,
        late=days > 0,
        snc=met,
        working=(
            f"{duty.what}, due {duty.due}, {state}: {days} days late",
            f"{counts} days late counts ({rule.citation}): {verdict}",
        ),
    )
