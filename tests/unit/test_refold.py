"""Streaming equals batch: whatever the order in which readings come, the facts are the same."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from compliance.judging import judge
from compliance.judging.excursions import step
from compliance.judging.refold import HOUR_US, REJOIN_US, Dirty, Key, Under, hour_of, quiet, refold
from compliance.model.findings import Excursion
from compliance.model.folds import FoldState, Kept
from compliance.model.parameters import Parameter
from compliance.model.readings import Quality, Series
from compliance.model.units import Unit
from compliance.rules import book
from compliance.rules.schema import LimitRule

_S = 1_000_000
_T0 = 1_783_000_800 * _S - (1_783_000_800 * _S) % HOUR_US


def the_rule() -> Under:
    holder, rule = book.find("prescott.ph")
    assert isinstance(rule, LimitRule)
    return Under(rule=rule, zone=holder.zone, unit=Unit.SU)


UNDER = the_rule()


def series_of(held: dict[int, tuple[float, int]], since: int, until: int) -> Series:
    at = sorted(t for t in held if since <= t < until)
    raw = Series(
        at_us=np.array(at, np.int64),
        value=np.array([held[t][0] for t in at], float),
        quality=np.array([held[t][1] for t in at], np.int64),
        interval_us=np.full(len(at), 60 * _S, np.int64),
    )
    return judge.usable(raw, Parameter.PH)


@dataclass
class Channel:
    """A channel with its store: readings, kept states and standing facts, as the job keeps them."""

    held: dict[int, tuple[float, int]] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    facts: dict[Key, Excursion] = field(default_factory=dict)
    folded: int = 0

    def take(self, news: dict[int, tuple[float, int]]) -> None:
        """Store readings, each over what stood there, and fold what they made dirty."""
        self.held |= news
        self.fold(sorted(news))

    def fold(self, touched: list[int], until: int | None = None) -> None:
        last = max(self.held) + 1
        until = max(until or 0, last, self.kept.folded_us or 0)
        dirty = Dirty(
            since_us=touched[0] if touched else self.kept.folded_us or last,
            hours=sorted({hour_of(t) for t in touched}),
        )
        done = refold(UNDER, self.kept, dirty, read=self._read, until_us=until)
        hours = dict(self.kept.hours)
        for since, upto in done.spans:
            hours = {h: s for h, s in hours.items() if not since < h <= upto}
            self.facts = {
                k: f for k, f in self.facts.items() if not since <= k[2] < upto or k in done.still
            }
        hours |= done.hours
        self.facts |= {key: excursion for key, (_, excursion) in done.changed.items()}
        last_kept = done.kept or self.kept
        self.kept = Kept(folded_us=last_kept.folded_us, state=last_kept.state, hours=hours)

    def _read(self, since: int, until: int) -> Series:
        found = series_of(self.held, since, until)
        self.folded += len(found)
        return found


def in_one_pass(held: dict[int, tuple[float, int]], until: int) -> dict[Key, Excursion]:
    """All readings at once, by the same step."""
    version = UNDER.rule.versions[-1]
    at_least, at_most = judge.bounds(version)
    _, found = step(
        FoldState(),
        series_of(held, 0, until),
        at_least=at_least,
        at_most=at_most,
        rejoin_us=REJOIN_US,
        until_us=until,
    )
    return {(str(version.effective), e.side, e.starts_us): e for e in found}


def history(dice: random.Random, *, minutes: int) -> dict[int, tuple[float, int]]:
    """A pH that wanders over both limits, with holes, bad readings and suspect ones."""
    held, value = {}, 7.0
    for minute in range(minutes):
        value += dice.choice([-0.4, -0.1, 0, 0.1, 0.4]) + (7.5 - value) * 0.02
        if dice.random() < 0.03:
            value = dice.choice([5.2, 6.0, 9.0, 9.7])
        quality = dice.choices([0, int(Quality.STATUS_BAD), int(Quality.DENORMAL)], [30, 1, 1])[0]
        if dice.random() > 0.06:
            held[_T0 + minute * 60 * _S] = (round(value, 2), quality)
    return held


def pieces(
    dice: random.Random, held: dict[int, tuple[float, int]]
) -> list[dict[int, tuple[float, int]]]:
    """The history as it may arrive: shuffled or late, in batches, twice, wrong and corrected."""
    at = sorted(held)
    arrival = {
        t: i + (dice.uniform(0, 200) if dice.random() < 0.1 else 0) for i, t in enumerate(at)
    }
    if dice.random() < 0.2:
        dice.shuffle(at)
    else:
        at.sort(key=arrival.__getitem__)
    wrong = {t: (round(dice.uniform(4, 11), 2), 0) for t in at if dice.random() < 0.05}
    made, i = [], 0
    while i < len(at):
        n = dice.choice([1, 2, 5, 30, 90])
        part = at[i : i + n]
        made.append({t: wrong.get(t, held[t]) for t in part})
        if dice.random() < 0.1:
            made.append(dict(made[-1]))
        i += n
    if wrong:
        corrections = list(wrong)
        for start in range(0, len(corrections), 3):
            part = corrections[start : start + 3]
            made.insert(
                dice.randrange(len(made) + 1) if dice.random() < 0.0 else len(made),
                {t: held[t] for t in part},
            )
    return made


@pytest.mark.parametrize("seed", range(120))
def test_facts_do_not_depend_on_the_order_of_arrival(seed: int) -> None:
    dice = random.Random(seed)
    held = history(dice, minutes=dice.choice([90, 400, 900]))
    channel = Channel()
    for piece in pieces(dice, held):
        channel.take(piece)
    assert channel.held == held
    until = max(held) + 1
    assert channel.facts == in_one_pass(held, until)
    end = until + 3 * HOUR_US
    channel.fold([], until=end)
    assert channel.facts == in_one_pass(held, end)
    assert all(fact.settled for fact in channel.facts.values())


def by_brute_force(held: dict[int, tuple[float, int]]) -> list[tuple[int, int, int]]:
    """Runs beyond a limit, reading by reading: start, readings and side, not joined."""
    judged = [
        (t, v)
        for t, (v, q) in sorted(held.items())
        if not q & int(Quality.STATUS_BAD) and 0 <= v <= 14
    ]
    runs: list[tuple[int, int, int]] = []
    before: tuple[int, int] | None = None
    for t, v in judged:
        side = -1 if v < 6.0 else 1 if v > 9.0 else 0
        if side and before and before[1] == side and t - before[0] <= 180 * _S:
            start, n, _ = runs[-1]
            runs[-1] = (start, n + 1, side)
        elif side:
            runs.append((t, 1, side))
        before = (t, side)
    return runs


@pytest.mark.parametrize("seed", range(40))
def test_the_fold_counts_what_a_reader_would_count(seed: int) -> None:
    dice = random.Random(1000 + seed)
    held = history(dice, minutes=500)
    channel = Channel()
    for piece in pieces(dice, held):
        channel.take(piece)
    runs = by_brute_force(held)
    assert sum(f.readings for f in channel.facts.values()) == sum(n for _, n, _ in runs)
    assert sum(f.runs for f in channel.facts.values()) == len(runs)
    assert {f.starts_us for f in channel.facts.values()} <= {start for start, _, _ in runs}


def test_a_late_reading_folds_its_hour_and_no_more() -> None:
    held = {_T0 + m * 60 * _S: (7.2, 0) for m in range(60 * 24) if m != 600}
    held[_T0 + 300 * 60 * _S] = (5.0, 0)
    held[_T0 + 1200 * 60 * _S] = (5.0, 0)
    channel = Channel()
    channel.take(held)
    before = channel.folded
    channel.take({_T0 + 600 * 60 * _S: (7.1, 0)})
    assert channel.folded - before <= 2 * 60
    assert len(channel.facts) == 2


def test_a_channel_in_order_keeps_nothing() -> None:
    channel = Channel()
    for minute in range(300):
        channel.take({_T0 + minute * 60 * _S: (7.0, 0)})
    assert channel.kept == Kept()


def test_an_excursion_settles_where_its_version_ends() -> None:
    rule = UNDER.rule
    first = rule.versions[-1].model_copy(update={"ended": date(2026, 7, 3)})
    second = rule.versions[-1].model_copy(
        update={"effective": date(2026, 7, 3), "at_least": Decimal("6.5")}
    )
    under = Under(
        rule=rule.model_copy(update={"versions": (first, second)}), zone=UNDER.zone, unit=UNDER.unit
    )
    midnight = judge.ends_at(first, UNDER.zone)
    assert midnight is not None
    held = {midnight + m * 60 * _S: (5.5, 0) for m in range(-90, 90)}
    done = refold(
        under,
        Kept(),
        Dirty(since_us=min(held), hours=sorted({hour_of(t) for t in held})),
        read=lambda a, b: series_of(held, a, b),
        until_us=max(held) + 1,
    )
    ends = sorted((e.starts_us, e.ends_us, e.settled) for _, e in done.changed.values())
    assert ends == [
        (midnight - 90 * 60 * _S, midnight, True),
        (midnight, midnight + 90 * 60 * _S, False),
    ]
    assert all(state.below for state in done.hours.values())


def test_quiet_means_that_every_reading_complies() -> None:
    calm = {_T0 + m * 60 * _S: (v, 0) for m, v in enumerate([6.0, 7.0, 9.0])}
    assert quiet(UNDER, series_of(calm, 0, 2**62))
    assert not quiet(UNDER, series_of(calm | {_T0: (5.99, 0)}, 0, 2**62))
