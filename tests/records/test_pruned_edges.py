"""Beside months that were destroyed, late readings are judged as if everything were still there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.support.keeping import (
    DAY,
    MONTHS,
    adopt,
    decided,
    held,
    numbers,
    old_manhole,
    ph,
    pruned,
    put,
    rows,
    settle,
)
from tests.support.manhole import Manhole

TIMES = ("judged_at", "superseded_at", "at", "detected_at")
COMPARED = ("rollup_day", "rollup_quarter", "exceedance", "flagged_span", "fold_hour", "detection")


def left_out(dice: random.Random, month: str) -> set[int]:
    """Whatever lies beyond in a month, and most readings of its first and last two days."""
    own = numbers(month, month)
    edges = {*own[: 2 * DAY], *own[-2 * DAY :]}
    return {n for n in own if ph(n) < 6 or dice.random() < (0.6 if n in edges else 0.05)}


def found(mh: Manhole) -> dict[str, list[dict[str, Any]]]:
    return {name: rows(mh, name, *TIMES) for name in COMPARED}


@pytest.mark.parametrize("kept", ["2020-03", "2020-05"])
def test_late_readings_beside_what_was_destroyed_are_judged_as_if_it_were_there(
    engine: Engine, engine_too: Engine, kept: str
) -> None:
    late = left_out(random.Random(kept), kept)
    one, other = (decided(old_manhole(each, left_out=late)) for each in (engine, engine_too))
    adopt(one.engine)
    held(one, kept)
    gone = [month for month in MONTHS if month != kept]
    assert pruned(one) == {"ph": gone, "flow": gone}
    before = found(one)
    assert before == found(other)
    for mh in (one, other):
        put(mh, late, worker="late")
        settle(mh)
    assert found(one) == found(other)
    assert found(one)["exceedance"] != before["exceedance"]
    assert one.count("fault") == other.count("fault") == 0
