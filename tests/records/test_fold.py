"""The fold in a database: any order of arrival, any crash, and the facts are those of one pass."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select

from compliance.jobs.evaluate import evaluate
from compliance.records import tables as t
from tests.support.manhole import AT, manhole
from tests.support.sweep import until_it_passes

FACT = ("id", "starts_at", "ends_at", "worst", "readings", "runs", "seconds_beyond", "review",
        "settled", "open_ended", "evidence")  # fmt: skip


def wandering(dice: random.Random, minutes: int) -> dict[int, float | None]:
    values: dict[int, float | None] = {}
    for minute in range(minutes):
        if dice.random() < 0.05:
            continue
        normal = dice.random() > 0.06
        values[minute] = 7.2 if normal else dice.choice([5.2, 5.9, 6.0, 9.0, 9.4, None])
    return values


def arriving(dice: random.Random, values: dict[int, float | None]) -> list[dict[int, float | None]]:
    """The same readings in pieces: late, shuffled, and some of them twice."""
    order = sorted(values, key=lambda m: m + (dice.uniform(0, 150) if dice.random() < 0.2 else 0))
    pieces = [order[i : i + 25] for i in range(0, len(order), 25)]
    if dice.random() < 0.4:
        dice.shuffle(pieces)
    pieces += [piece for piece in pieces if dice.random() < 0.2]
    return [{m: values[m] for m in piece} for piece in pieces]


def standing(engine: Engine) -> list[dict[str, Any]]:
    with engine.connect() as db:
        rows = db.execute(
            select(*(t.exceedance.c[name] for name in FACT))
            .where(t.exceedance.c.superseded_at.is_(None))
            .order_by(t.exceedance.c.starts_at, t.exceedance.c.id)
        ).mappings()
        return [{**row, "evidence": row["evidence"]["working"]} for row in rows]


def in_one_pass(engine: Engine, values: dict[int, float | None]) -> list[dict[str, Any]]:
    """All facts of a second manhole's day, found at once: the oracle of the first."""
    mh = manhole(engine)
    mh.put(values)
    mh.judge(after=3000)
    return standing(engine)


@pytest.mark.parametrize("seed", range(4))
def test_stored_facts_do_not_depend_on_the_order_of_arrival(
    engine: Engine, engine_too: Engine, seed: int
) -> None:
    dice = random.Random(seed)
    values = wandering(dice, 360)
    mh = manhole(engine)
    for number, piece in enumerate(arriving(dice, values)):
        mh.put(piece, worker=f"w{number}")
        mh.judge()
    mh.judge(after=3000)
    assert standing(engine) == in_one_pass(engine_too, values)
    assert len(standing(engine)) > 5


def test_a_crash_at_any_statement_changes_nothing_in_the_end(
    engine: Engine, engine_too: Engine
) -> None:
    values: dict[int, float | None] = {m: 7.2 for m in range(130)}
    values |= {5: 5.5, 6: 5.4, 58: 9.6, 59: 9.7, 60: 9.8, 61: 9.5}
    late: dict[int, float | None] = {59: values.pop(59)}
    mh = manhole(engine)
    for piece in (values, late):
        mh.put(piece, worker=f"w{len(piece)}")
        died = until_it_passes(engine, lambda: evaluate(engine, now=AT, release="test"))
        assert died > 10
    until_it_passes(engine, lambda: evaluate(engine, now=AT + timedelta(days=2), release="test"))
    assert standing(engine) == in_one_pass(engine_too, values | late)
    told = mh.events()
    assert sorted(set(told)) == ["exceedance.ended", "exceedance.revised",
                                 "exceedance.started", "violation.detected"]  # fmt: skip
    assert told.count("violation.detected") == mh.count("detection") == 2


def test_a_channel_in_order_writes_no_state(engine: Engine) -> None:
    mh = manhole(engine)
    for minute in range(0, 200, 20):
        mh.put({minute + m: 7.0 for m in range(20)})
        mh.judge()
    assert mh.count("fold_state") == mh.count("fold_hour") == 0


def test_states_are_kept_at_full_hours_where_something_is_open(engine: Engine) -> None:
    mh = manhole(engine)
    mh.put({m: 5.0 if 50 <= m < 190 else 7.0 for m in range(240)})
    mh.judge()
    with engine.connect() as db:
        hours = [
            int((row.hour - AT).total_seconds() // 60)
            for row in db.execute(
                select(t.fold_hour.c.hour)
                .where(t.fold_hour.c.rule_id == "prescott.ph")
                .order_by(t.fold_hour.c.hour)
            )
        ]
    assert hours == [60, 120, 180]
