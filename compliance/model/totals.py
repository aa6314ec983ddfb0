"""Totals: what a count on a meter shows, the steps between its readings, and a day's volume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from compliance.model.periods import Window


class StepKind(StrEnum):
    """What lies between a reading of a total and the one before it."""

    PLAIN = "plain"
    ROLLOVER = "rollover"  # passed its modulus and went on from zero
    RESET = "reset"  # began again near zero and stayed low
    SUSPECT = "suspect"  # cannot be: the reading or the leap is left out of the sum
    REPLACED = "replaced"  # a person noted the last read of the old meter, the first of the new


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What a totalizer showed at one instant, in its own unit."""

    at_us: int
    value: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """How a total counts.

    modulus: it shows ``0 <= value < modulus``, in the unit of the value; max_per_second: the most
    that the pipe can pass, None where nobody said; resolution: a step back of as much is no fall;
    begins_anew: it is set to zero on purpose, as a sampler's count is with each program.
    """

    modulus: Decimal
    max_per_second: Decimal | None = None
    resolution: Decimal = Decimal(0)
    begins_anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The volume that passed up to a reading, and what kind of step it was.

    since_us, since_shows: the reading it is counted from; a reading that is left out has
    ``since_us == at_us`` and no volume. is_known: False where water may have passed that the total
    cannot tell (a leap); such a step has no volume either. reason: empty for a plain step.
    """

    since_us: int
    at_us: int
    since_shows: Decimal
    shows: Decimal
    volume: Decimal
    kind: StepKind = StepKind.PLAIN
    reason: str = ""
    is_known: bool = True

    @property
    def spans(self) -> bool:
        """Whether the step covers time: not a reading left out."""
        return self.at_us > self.since_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A person's note of a meter exchanged: what the old one showed last, the new one first."""

    at_us: int
    final: Decimal
    initial: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalState:
    """Where the sum over a total stands; small, comparable, and the same from JSON and back.

    total: the volume up to ``base``, the last reading that is settled; open: up to two readings
    after it that the next ones decide on; stray: the last reading left out of a count that fell and
    cannot be explained; before_reset: the last reading before a reset, until the count has grown
    past it; noted_since_us: where ``base`` is a person's note of a new meter, the last reading
    before it, since nobody notes to the second; has_walked: whether any step is settled.
    """

    total: Decimal = Decimal(0)
    base: Count | None = None
    open: tuple[Count, ...] = ()
    stray: Count | None = None
    before_reset: Count | None = None
    noted_since_us: int | None = None
    has_walked: bool = False

    def as_json(self) -> dict[str, Any]:
        """The state in plain values; decimals as texts."""
        return {
            "total": str(self.total),
            "base": _pair(self.base),
            "open": [_pair(count) for count in self.open],
            "stray": _pair(self.stray),
            "before_reset": _pair(self.before_reset),
            "noted_since_us": self.noted_since_us,
            "has_walked": self.has_walked,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TotalState:
        """The state that ``as_json`` wrote."""
        return cls(
            total=Decimal(content["total"]),
            base=_count(content["base"]),
            open=tuple(count for pair in content["open"] if (count := _count(pair))),
            stray=_count(content["stray"]),
            before_reset=_count(content["before_reset"]),
            noted_since_us=content["noted_since_us"],
            has_walked=content["has_walked"],
        )


def _pair(count: Count | None) -> list[object] | None:
    return None if count is None else [count.at_us, str(count.value)]


def _count(pair: list[Any] | None) -> Count | None:
    return None if pair is None else Count(at_us=pair[0], value=Decimal(pair[1]))


class VolumeSource(StrEnum):
    """What a volume rests on."""

    TOTALIZER = "totalizer"
    FLOW_INTEGRAL = "flow_integral"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowIntegral:
    """Flow rate times time, each reading held until the next and not for long.

    gallons: over the time held; completeness: time held as a share of the window.
    """

    gallons: Decimal
    window: Window
    completeness: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """How far the flow integral lies from the totalizer over the time that both cover.

    share: of the totalizer's volume, positive where the flow says more; None where the total stood
    still. seconds: the time compared.
    """

    totalizer_gallons: Decimal
    flow_gallons: Decimal
    seconds: Decimal
    share: Decimal | None
    working: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """The volume of a window, mostly a civil day, with where it comes from and how it came.

    gallons, source: None when there is neither total nor rate. completeness: of the rate data, as
    a share of the window; covered: the share that ``gallons`` stands on; estimated_gallons: the
    part taken from the flow rate because the total could not tell. disagreement: None where total
    and rate have no time in common. needs_review: the total has a reset or a suspect reading here.
    """

    window: Window
    gallons: Decimal | None
    source: VolumeSource | None
    completeness: Decimal
    covered: Decimal
    estimated_gallons: Decimal
    disagreement: Disagreement | None
    needs_review: bool
    working: tuple[str, ...]

    @property
    def is_estimated(self) -> bool:
        """Whether any part is an estimate, to be printed with an E."""
        return self.source is VolumeSource.FLOW_INTEGRAL or self.estimated_gallons > 0
