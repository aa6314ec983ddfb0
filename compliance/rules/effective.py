"""Versions of a rule in time: half-open dates, and which one covers a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from compliance.errors import NotInForce


class Dated(Protocol):
    """Anything that holds from one day up to another."""

    @property
    def effective(self) -> date | None: ...

    @property
    def ended(self) -> date | None: ...


V = TypeVar("V", bound=Dated)


def in_force(rule_id: str, versions: Sequence[V], day: date) -> V:
    """The version covering ``day``; intervals are ``[effective, ended)``.

    Raises: NotInForce: no version is never the same as "compliant".
    """
    for version in versions:
        if _first(version) <= day < _end(version):
            return version
    raise NotInForce(rule_id, day)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch(Generic[V]):
    """Days from ``start`` up to ``end`` under one version, or under none."""

    start: date
    end: date
    version: V | None


def stretches(versions: Sequence[V], first: date, last: date) -> Iterator[Stretch[V]]:
    """The days from ``first`` to ``last``, both included, cut where the version changes."""
    end = last + timedelta(days=1)
    edges = {first, end}
    for version in versions:
        edges |= {day for day in (_first(version), _end(version)) if first < day < end}
    for start, stop in pairwise(sorted(edges)):
        current = next((v for v in versions if _first(v) <= start < _end(v)), None)
        yield Stretch(start=start, end=stop, version=current)


def overlap(versions: Sequence[Dated]) -> date | None:
    """The first day that two versions both claim, or None."""
    ordered = sorted(versions, key=_first)
    return next((_first(b) for a, b in pairwise(ordered) if _first(b) < _end(a)), None)


def _first(version: Dated) -> date:
    return version.effective or date.min


def _end(version: Dated) -> date:
    return version.ended or date.max
