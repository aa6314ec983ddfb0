"""The proportional sampler: aliquots counted against the water that passed, to composites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np

from compliance.model.composites import BottleChange, Composite, MissedPull, SamplerProgram
from compliance.model.counting import tally
from compliance.model.periods import Window, day_of, from_us, local_day, to_us
from compliance.model.readings import Series, judged
from compliance.model.totals import Count, Counter, Step, StepKind
from compliance.model.units import Unit, as_decimal, linear
from compliance.model.verdicts import WHY, Verdict
from compliance.model.volumes import percent, volume_between

READ_SHARE = Decimal("0.99")
"""Counts and totals have to cover so much of a composite's time; the rest is the polls' grid."""


def pulses(counts: Series, *, modulus: Decimal = Decimal(65536)) -> tuple[Step, ...]:
    """The aliquots between readings of a sampler's count, or of a contact module's pulse count.

    counts: whole numbers, in time order; a count that begins anew with a program is a reset.
    Readings that may not be judged are no readings.
    """
    usable = judged(counts)
    read = (
        Count(at_us=at, value=Decimal(round(value)))
        for at, value in zip(usable.at_us.tolist(), usable.value.tolist(), strict=True)
    )
    return tally(read, Counter(modulus=modulus, begins_anew=True)).steps


def bottle_changes(bottles: Series) -> tuple[BottleChange, ...]:
    """Each reading that shows another bottle than the reading before."""
    usable = judged(bottles)
    shown = np.rint(usable.value).astype(np.int64)
    return tuple(
        BottleChange(at_us=int(usable.at_us[at]), bottle=int(shown[at]), before=int(shown[at - 1]))
        for at in np.flatnonzero(np.diff(shown)) + 1
    )


def bottle_windows(bottles: Series) -> tuple[Window, ...]:
    """One span for each bottle, from the reading that first shows it up to the next bottle's.

    The last one ends with the last reading: it is still being filled.
    """
    usable = judged(bottles)
    if not len(usable):
        return ()
    changes = [change.at_us for change in bottle_changes(bottles)]
    return _between([int(usable.at_us[0]), *changes, int(usable.at_us[-1])])


def program_windows(aliquots: Sequence[Step]) -> tuple[Window, ...]:
    """One span for each run of a program, which begins where the aliquot count began again.

    aliquots: as ``pulses`` makes them. The last one ends with the last reading.
    """
    if not aliquots:
        return ()
    resets = [step.at_us for step in aliquots if step.kind is StepKind.RESET]
    return _between([aliquots[0].since_us, *resets, aliquots[-1].at_us])


def day_windows(aliquots: Sequence[Step], zone: ZoneInfo) -> tuple[Window, ...]:
    """The civil days that the count was read on; the last one ends with the last reading."""
    if not aliquots:
        return ()
    first, last = from_us(aliquots[0].since_us), from_us(aliquots[-1].at_us)
    days = (day_of(last, zone) - day_of(first, zone)).days + 1
    whole = [local_day(day_of(first, zone) + timedelta(days=n), zone) for n in range(days)]
    cut = [Window(start=one.start, end=min(one.end, last)) for one in whole]
    return tuple(one for one in cut if one.start < one.end)


def day_belonging(window: Window, totals: Sequence[Step], zone: ZoneInfo) -> date:
    """The civil day that a composite belongs to: the one with the greater part of its water.

    A tie goes to the earlier. Where no water is known to have passed, time decides instead.
    """
    first = day_of(window.start, zone)
    days = [first + timedelta(days=n) for n in range((window.end - window.start).days + 2)]
    parts = [_common(window, local_day(day, zone)) for day in days]
    water = [volume_between(totals, part) if part else Fraction(0) for part in parts]
    seconds = [
        Fraction(to_us(part.end) - to_us(part.start)) if part else Fraction(0) for part in parts
    ]
    share = water if any(water) else seconds
    return days[share.index(max(share))]


def _common(one: Window, other: Window) -> Window | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Window(start=start, end=end) if start < end else None


def composites(  # noqa: PLR0913 - what a sampler and its meter show
    windows: Sequence[Window],
    program: SamplerProgram,
    *,
    aliquots: Sequence[Step],
    totals: Sequence[Step],
    total_unit: Unit = Unit.GAL,
    bottles: Series | None = None,
    cabinet: Series | None = None,
    zone: ZoneInfo | None = None,
) -> tuple[Composite, ...]:
    """A composite for each window: a bottle's, a program's, or a civil day.

    aliquots: of ``pulses``; totals: steps of the totalizer, in ``total_unit``; bottles: the number
    of the one being filled; cabinet: the refrigerator's temperature in degC. None: the instrument
    has no such entry. The volume is of the window, exactly. zone: in which faults tell the time.
    Raises: UnitMismatch when ``total_unit`` is no volume.
    """
    factor = linear(total_unit, Unit.GAL)[0]
    return tuple(
        _composite(
            _Content(
                window=window,
                program=program,
                zone=zone,
                factor=factor,
                aliquots=tuple(_belonging(aliquots, window, program)),
                counted=_covered(aliquots, window),
                totals=tuple(step for step in totals if _meets(step, window)),
                bottles=_during(bottles, window),
                cabinet=_during(cabinet, window),
            )
        )
        for window in windows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What was read while a composite was taken; series hold only what may be judged."""

    window: Window
    program: SamplerProgram
    zone: ZoneInfo | None
    factor: Fraction
    aliquots: tuple[Step, ...]
    counted: Decimal  # share of the window that the aliquot count covers
    totals: tuple[Step, ...]
    bottles: Series | None
    cabinet: Series | None

    @property
    def taken(self) -> int:
        return int(sum(step.volume for step in self.aliquots))

    @property
    def gallons(self) -> Decimal | None:
        """The volume that passed; None where the total does not tell."""
        if any(not step.is_known for step in self.totals):
            return None
        if _covered(self.totals, self.window) < READ_SHARE:
            return None
        return self.passed(self.window.start, self.window.end)

    def passed(self, start: datetime, end: datetime) -> Decimal:
        return as_decimal(self.factor * volume_between(self.totals, Window(start=start, end=end)))

    def missed(self) -> Iterator[MissedPull]:
        """Where more water passed between two aliquots than one is due for, surely."""
        pulls = [step for step in self.aliquots if step.volume > 0]
        edges = [to_us(self.window.start)]
        edges += [us for step in pulls for us in (step.since_us, step.at_us)]
        edges.append(to_us(self.window.end))
        certain = 0 if len(pulls) == 0 else 1  # from one aliquot to the next, one is no miss
        for before, after in zip(edges[::2], edges[1::2], strict=True):
            start, end = from_us(before), from_us(max(before, after))
            due = self.passed(start, end) / self.program.gallons_per_aliquot
            aliquots = int(due) if not certain else round(due) - 1
            if aliquots > 0:
                yield MissedPull(between=Window(start=start, end=end), aliquots=aliquots)

    def at(self, instant: datetime) -> str:
        """An instant for print: at the plant, where its zone is known."""
        if self.zone is None:
            return instant.isoformat()
        there = instant.astimezone(self.zone)
        return f"{there:%Y-%m-%d %H:%M:%S} {there.tzname()}"

    @property
    def warmest_deg_c(self) -> Decimal | None:
        if self.cabinet is None or not len(self.cabinet):
            return None
        return Decimal(repr(float(self.cabinet.value.max())))


def _composite(content: _Content) -> Composite:
    gallons = content.gallons
    due = None if gallons is None else gallons / content.program.gallons_per_aliquot
    missed = () if gallons is None else tuple(content.missed())
    taken = content.taken
    numbers = () if content.bottles is None else dict.fromkeys(content.bottles.value.tolist())
    return Composite(
        window=content.window,
        bottles=tuple(round(number) for number in numbers),
        aliquots=taken,
        gallons=gallons,
        due=due,
        representativeness=taken / due if due else None,
        missed=missed,
        warmest_deg_c=content.warmest_deg_c,
        faults=tuple(_faults(content, due, missed)),
        working=tuple(_working(content, due)),
    )


def _faults(content: _Content, due: Decimal | None, missed: Sequence[MissedPull]) -> Iterator[str]:
    taken, program = content.taken, content.program
    if not taken:
        yield "no aliquot was taken"
    if content.counted < READ_SHARE:
        yield f"the aliquot count was read for {percent(content.counted)} of the time only"
    yield from (
        f"the aliquot count {step.reason}, at {content.at(from_us(step.at_us))}"
        for step in content.aliquots
        if step.kind is StepKind.SUSPECT
    )
    yield from _total_faults(content)
    if due is None:
        yield "the total does not tell how much water passed"
    elif abs(taken - due) > max(Decimal(1), program.tolerance * due):
        yield f"{taken} aliquots for {_shown(due)} due by the water that passed"
    total = sum(pull.aliquots for pull in missed)
    if due and total > program.tolerance * due:
        longest = max(missed, key=lambda pull: pull.aliquots)
        yield (
            f"{total} pulls missed, most of them between "
            f"{content.at(longest.between.start)} and {content.at(longest.between.end)}"
        )
    yield from _bottle_faults(content)
    yield from _cabinet_faults(content)


def _total_faults(content: _Content) -> Iterator[str]:
    """A total that fell and that nobody explained: what passed meanwhile is not certain."""
    for step in content.totals:
        if step.kind is StepKind.RESET or step.reason.startswith(WHY[Verdict.FALL]):
            yield f"the total {step.reason}, at {content.at(from_us(step.at_us))}"
            return


def _bottle_faults(content: _Content) -> Iterator[str]:
    most = content.program.aliquots_per_bottle
    if content.bottles is None:
        return
    shown = list(dict.fromkeys(round(number) for number in content.bottles.value.tolist()))
    if not shown:
        yield "no bottle number was read"
    for before, bottle in pairwise(shown):
        if bottle not in (before + 1, 1):
            yield f"bottle {bottle} follows bottle {before}"
    if most is not None and content.taken > most * max(1, len(shown)):
        yield f"{content.taken} aliquots are more than {most} a bottle hold"


def _cabinet_faults(content: _Content) -> Iterator[str]:
    bound, warmest = content.program.warmest_deg_c, content.warmest_deg_c
    if bound is None or content.cabinet is None:
        return
    if warmest is None:
        yield "the cabinet's temperature was not read"
    elif warmest > bound:
        yield f"the cabinet reached {warmest} degC; at most {bound} degC is allowed"


def _working(content: _Content, due: Decimal | None) -> Iterator[str]:
    gallons, pace = content.gallons, content.program.gallons_per_aliquot
    yield f"{content.taken} aliquots counted"
    if gallons is None or due is None:
        return
    yield f"{_shown(gallons)} gal ÷ {pace} gal an aliquot = {_shown(due)} due"
    if due:
        yield f"{content.taken} ÷ {_shown(due)} = {_shown(content.taken / due)} taken of those due"


def _belonging(aliquots: Sequence[Step], window: Window, program: SamplerProgram) -> Iterator[Step]:
    """Steps whose aliquots fell into a window: between two readings, where one cannot know more."""
    start, end = to_us(window.start), to_us(window.end)
    for step in aliquots:
        begins_it = step.kind is StepKind.RESET or not program.moves_when_full
        at = step.at_us if begins_it else step.since_us
        if start <= at < end:
            yield step


def _meets(step: Step, window: Window) -> bool:
    return step.since_us < to_us(window.end) and step.at_us > to_us(window.start)


def _covered(steps: Sequence[Step], window: Window) -> Decimal:
    start, end = to_us(window.start), to_us(window.end)
    inside = (min(step.at_us, end) - max(step.since_us, start) for step in steps if step.is_known)
    covered = sum(part for part in inside if part > 0)
    return Decimal(covered) / (end - start) if end > start else Decimal(0)


def _during(series: Series | None, window: Window) -> Series | None:
    if series is None:
        return None
    usable = judged(series)
    start, end = to_us(window.start), to_us(window.end)
    return usable.where((usable.at_us >= start) & (usable.at_us < end))


def _between(instants: Sequence[int]) -> tuple[Window, ...]:
    return tuple(
        Window(start=from_us(start), end=from_us(end))
        for start, end in pairwise(instants)
        if start < end
    )


def _shown(value: Decimal) -> str:
    return f"{round(value, 2).normalize():f}"
