"""What further samples would do to a half-year: how many clean ones keep it under a criterion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from compliance.judging.measurements import months_between
from compliance.judging.noncompliance import Tally, reaches
from compliance.model.noncompliance import FEDERAL, PLAIN, Criterion, SncBasis, SncRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """One criterion of one limit in a window that goes on.

    clean: further measurements without an exceedance that bring it under, 0 where it is under;
    can_keep: whether they still can be had; bad: further exceedances in a row, with nothing else,
    that it bears before it is met (0: the next one meets it); says: the same in words.
    """

    criterion: Criterion
    clean: int
    can_keep: bool
    bad: int
    says: str


def clean_needed(part: int, whole: int, percent: int) -> int:
    """The fewest clean measurements after which a share is under a percentage.

    The share is under when 100 x part < percent x (whole + clean).
    """
    return max(0, 100 * part // percent + 1 - whole) if reaches(part, whole, percent) else 0


def bad_borne(part: int, whole: int, percent: int) -> int:
    """How many exceedances in a row a share bears; 0 where the next one meets the criterion."""
    number = 0
    while whole + number and not reaches(part + number + 1, whole + number + 1, percent):
        number += 1
    return number


def outlooks(
    tally: Tally, rule: SncRule, *, as_of: date, samples_left: int | None = None
) -> tuple[Outlook, ...]:
    """How each criterion of a tally can end.

    samples_left: measurements that can still be taken in the window (None: as many as are wanted);
    of monthly means, the months that have none yet are the most there can be.
    """
    most, is_over = _most(tally, as_of, samples_left), as_of >= tally.window.end - timedelta(days=1)
    return tuple(
        _outlook(criterion, part, tally, share=share, most=most, is_over=is_over)
        for criterion, part, share in _tests(tally, rule)
    )


def _tests(tally: Tally, rule: SncRule) -> Iterator[tuple[Criterion, int, int]]:
    yield Criterion.CHRONIC, tally.exceed, rule.chronic_percent
    if tally.trc_snc is not None:
        yield Criterion.TECHNICAL, tally.trc, rule.trc_percent


def _most(tally: Tally, as_of: date, samples_left: int | None) -> int | None:
    if as_of >= tally.window.end - timedelta(days=1):
        return 0
    if tally.limit.basis is not SncBasis.MONTHLY_AVG:
        return samples_left
    months = months_between(tally.window)
    known = {line.day for line in tally.lines}
    left = sum(1 for one in months if one >= as_of.replace(day=1) and one not in known)
    return left if samples_left is None else min(left, samples_left)


def _outlook(  # noqa: PLR0913 - what one criterion is seen by
    criterion: Criterion,
    part: int,
    tally: Tally,
    *,
    share: int,
    most: int | None,
    is_over: bool,
) -> Outlook:
    clean = clean_needed(part, tally.n, share)
    can_keep = most is None or clean <= most
    bad = 0 if clean else bad_borne(part, tally.n, share)
    called = f"{PLAIN[criterion]} ({FEDERAL[criterion]}, {share} %)"
    if is_over:
        says = _final(clean, tally)
    elif clean:
        says = _to_bring_under(clean, most)
    else:
        says = _bears(bad, tally)
    return Outlook(
        criterion=criterion, clean=clean, can_keep=can_keep, bad=bad, says=f"{called}: {says}"
    )


def _final(clean: int, tally: Tally) -> str:
    if clean:
        return f"it can no more be kept: {_more(clean)} would be needed, and the half-year is over"
    return "kept: the half-year is over" if tally.n else "nothing was measured"


def _to_bring_under(clean: int, most: int | None) -> str:
    if most is None or clean <= most:
        return f"{_more(clean)} without an exceedance would bring the half-year under it"
    left = "none can follow" if most == 0 else f"only {most} can still follow"
    return f"it can no more be kept: {_more(clean)} would be needed, and {left}"


def _bears(bad: int, tally: Tally) -> str:
    if not tally.n:
        return "nothing is measured yet: a first result over the limit would be 100 %"
    if not bad:
        return "kept so far; one more exceedance would meet it"
    return f"kept so far; {bad} more in a row would not meet it, {bad + 1} would"


def _more(number: int) -> str:
    return "one more measurement" if number == 1 else f"{number} more measurements"
