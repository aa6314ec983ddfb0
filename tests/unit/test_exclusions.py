"""What was left out inside the limit and beyond it, by hand and against counting one by one."""

from __future__ import annotations

import random
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from compliance.judging.exclusions import Cause, Exclusions, Part, beyond, exclusions, plain
from compliance.judging.refold import Under
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.readings import Quality, Series
from compliance.model.rollups import QUARTER_US, quarters
from compliance.model.units import Unit
from compliance.rules import book
from compliance.rules.schema import LimitRule
from tests.support.manhole import AT

START = to_us(AT)
MINUTE = 60_000_000


def ph() -> tuple[Under, ...]:
    rule = book.find("prescott.ph")[1]
    assert isinstance(rule, LimitRule)
    return (Under(rule=rule, zone=ZoneInfo("America/Chicago"), unit=Unit.SU),)


def series(values: list[tuple[float, int]]) -> Series:
    n = len(values)
    return Series(
        at_us=START + np.arange(n, dtype=np.int64) * MINUTE,
        value=np.array([value for value, _ in values]),
        quality=np.array([quality for _, quality in values], np.int64),
        interval_us=np.full(n, MINUTE, np.int64),
    )


def test_each_reading_is_counted_on_its_side_for_its_first_cause() -> None:
    invalid, window = int(Quality.INVALID), int(Quality.MAINTENANCE)
    found = exclusions(
        series(
            [
                (7.0, 0), (6.0, 0), (5.9, 0), (9.1, invalid), (5.0, window | invalid),
                (7.0, int(Quality.STATUS_BAD)), (7.0, int(Quality.STATUS_UNCERTAIN)), (15.0, 0),
                (np.nan, int(Quality.NO_ANSWER)), (5.0, int(Quality.NOT_COMMISSIONED)),
            ]
        ),
        ph(),
        Parameter.PH,
    )  # fmt: skip
    assert found.without_value == 1
    assert (found.inside.readings, found.beyond.readings) == (4, 4)
    assert found.inside.excluded == {Cause.DEVICE: 1, Cause.WINDOW: 0, Cause.DETERMINATION: 0}
    assert found.beyond.excluded == {Cause.DEVICE: 1, Cause.WINDOW: 1, Cause.DETERMINATION: 1}
    assert found.beyond.share() == 0.75 and found.beyond.share(Cause.WINDOW) == 0.25


def test_where_there_is_no_reading_there_is_no_share() -> None:
    assert Part().share() is None
    assert Exclusions() + Exclusions() == Exclusions(
        inside=Part(excluded=dict.fromkeys(Cause, 0)), beyond=Part(excluded=dict.fromkeys(Cause, 0))
    )


@pytest.mark.parametrize("seed", range(20))
def test_calm_quarters_hold_nothing_that_was_left_out_or_is_beyond(seed: int) -> None:
    dice = random.Random(seed)
    odd = [int(q) for q in (Quality.INVALID, Quality.STATUS_BAD, Quality.MAINTENANCE)]
    values = [
        (dice.choice([7.0, 6.0, 9.0, 8.9]) if dice.random() < 0.97 else dice.choice([5.99, 9.01]),
         0 if dice.random() < 0.97 else dice.choice(odd))
        for _ in range(300)
    ]  # fmt: skip
    whole = series(values)
    of = quarters(whole, since_us=START, until_us=START + 20 * QUARTER_US)
    calm = plain(of, ph(), Parameter.PH)
    assert calm.any() and not calm.all()
    busy = ~np.isin(whole.at_us // QUARTER_US * QUARTER_US, of.start_us[calm])
    quiet = exclusions(whole.where(~busy), ph(), Parameter.PH)
    assert quiet.beyond.readings == quiet.inside.left_out == 0
    assert quiet.inside.readings == of.good[calm].sum()
    assert not beyond(whole.where(~busy), ph()).any()
