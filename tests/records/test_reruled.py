"""A rule that says otherwise than yesterday: what it bears on is judged anew, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import resources

import pytest
from sqlalchemy import Engine, select

from compliance.jobs import evaluate as evaluating
from compliance.jobs.evaluate import Which, evaluate
from compliance.jobs.reruled import look
from compliance.jobs.slugs import screen_slugs
from compliance.records import dirt, health
from compliance.records import tables as t
from compliance.rules import book
from tests.support.manhole import AT, Manhole, manhole

Amend = Callable[[str, str], None]
NORMAL = 7.2
BOUND = 'at_most: "9.0"\n        note'
STRICTER = 'at_most: "8.5"\n        note'
FROM_WEDNESDAY = """at_most: "9.0"
        ended: 2026-07-08
      - effective: 2026-07-08
        at_least: "6.0"
        at_most: "8.5"
        note"""


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    made = manhole(engine)
    read_rules(made)
    return made


@pytest.fixture
def amend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Amend]:
    """Changes words of Prescott's rulebook, as a new release would."""
    original = book.books()
    file = resources.files("compliance.rules") / "prescott.yaml"

    def change(old: str, new: str) -> None:
        text = file.read_text(encoding="utf-8")
        assert old in text
        amended = {**original, "prescott": book.parse(text.replace(old, new, 1), "prescott.yaml")}
        monkeypatch.setattr(book, "books", lambda: amended)
        evaluating.limits.cache_clear()

    yield change
    evaluating.limits.cache_clear()


def read_rules(mh: Manhole) -> int:
    """What a worker does when it starts."""
    with mh.engine.begin() as db:
        return look(db, release="test", now=AT)


def judge_anew(mh: Manhole) -> None:
    while waiting(mh, dirt.RULED):
        evaluate(mh.engine, now=AT + timedelta(days=40), release="test", which=Which.RULED)


def waiting(mh: Manhole, why: str) -> int:
    with mh.engine.connect() as db:
        return len(db.execute(select(t.dirty.c.id).where(t.dirty.c.why == why)).all())


def ten_days(mh: Manhole) -> None:
    """At noon of each day a minute of pH 8.8, on the third and the ninth one of 9.4."""
    for day in range(10):
        worst = 9.4 if day in (2, 8) else 8.8
        piece = {0: NORMAL, 1: worst, 2: NORMAL, 30: NORMAL}
        mh.put(piece, start=AT + timedelta(days=day), worker=f"w{day}")
    mh.judge(after=40 * 1440)


def days(mh: Manhole) -> list[tuple[int, str]]:
    return [(start // 1440, worst) for start, _, worst, _ in mh.facts()]


def limits(mh: Manhole) -> list[str]:
    with mh.engine.connect() as db:
        rows = db.execute(
            select(t.exceedance.c.limit)
            .where(t.exceedance.c.superseded_at.is_(None))
            .order_by(t.exceedance.c.starts_at)
        )
        return [row.limit for row in rows]


def test_a_first_look_writes_down_and_marks_nothing(mh: Manhole) -> None:
    ten_days(mh)
    assert days(mh) == [(2, "9.40"), (8, "9.40")]
    assert read_rules(mh) == 0
    assert waiting(mh, dirt.RULED) == 0


def test_a_stricter_bound_finds_what_was_allowed_before(mh: Manhole, amend: Amend) -> None:
    ten_days(mh)
    amend(BOUND, STRICTER)
    assert read_rules(mh) == 1
    assert read_rules(mh) == 0
    judge_anew(mh)
    assert days(mh) == [(n, "9.40" if n in (2, 8) else "8.80") for n in range(10)]
    assert limits(mh) == ["8.5"] * 10


def test_what_is_judged_anew_is_what_one_pass_finds(mh: Manhole, amend: Amend) -> None:
    amend(BOUND, FROM_WEDNESDAY)
    read_rules(mh)
    judge_anew(mh)
    ten_days(mh)
    at_once = mh.facts()
    amend(FROM_WEDNESDAY.split("\n", maxsplit=1)[0] + "\n        note", BOUND)
    read_rules(mh)
    judge_anew(mh)
    assert days(mh) == [(2, "9.40"), (8, "9.40")]
    amend(BOUND, FROM_WEDNESDAY)
    read_rules(mh)
    judge_anew(mh)
    assert mh.facts() == at_once
    assert [day for day, _ in days(mh)] == list(range(2, 10))


def test_only_days_from_the_change_on_are_judged_anew(mh: Manhole, amend: Amend) -> None:
    ten_days(mh)
    amend(BOUND, FROM_WEDNESDAY)
    read_rules(mh)
    with mh.engine.connect() as db:
        since = db.scalar(select(t.dirty.c.since).where(t.dirty.c.why == dirt.RULED))
    assert since is not None
    assert since.isoformat() == "2026-07-08T04:00:00+00:00"  # an hour before midnight in Prescott


def test_the_past_is_worked_off_by_weeks(mh: Manhole, amend: Amend) -> None:
    ten_days(mh)
    amend(BOUND, STRICTER)
    read_rules(mh)
    evaluate(mh.engine, now=AT + timedelta(days=40), release="test", which=Which.RULED)
    assert [day for day, _ in days(mh)] == [*range(7), 8]
    assert waiting(mh, dirt.RULED) == 1
    assert waiting(mh, dirt.ROLLUP) == 1  # sums do not depend on rules: that of the first judging


def test_years_without_readings_are_leapt_over(mh: Manhole, amend: Amend) -> None:
    mh.put({0: NORMAL, 1: 8.8, 2: NORMAL}, start=AT - timedelta(days=2000), worker="old")
    ten_days(mh)
    amend(BOUND, STRICTER)
    read_rules(mh)
    rounds = 0
    while waiting(mh, dirt.RULED):
        evaluate(mh.engine, now=AT + timedelta(days=40), release="test", which=Which.RULED)
        rounds += 1
    assert rounds == 3
    assert [day for day, _ in days(mh)] == [-2000, *range(10)]


def test_better_words_are_no_other_rule(mh: Manhole, amend: Amend) -> None:
    ten_days(mh)
    amend("both ends comply.", "both 6.0 and 9.0 comply.")
    assert read_rules(mh) == 0
    assert waiting(mh, dirt.RULED) == 0


def test_a_rule_that_is_missing_keeps_its_findings_and_is_told(mh: Manhole, amend: Amend) -> None:
    ten_days(mh)
    amend("id: prescott.ph\n", "id: prescott.acidity\n")
    read_rules(mh)
    judge_anew(mh)
    with mh.engine.connect() as db:
        said = [fault.what for fault in health.faults(db, since=AT - timedelta(days=9000))]
    assert said == [
        "rule prescott.ph is in no rulebook of City of Prescott any more; what was found under it "
        "stands, and nothing new is found: put it back, with the day on which it ended"
    ]
    assert len(days(mh)) == 4  # each under the old name and under the new one


def test_another_slug_rule_screens_the_past_anew(mh: Manhole, amend: Amend) -> None:
    flows = {n: (100.0 if n < 1440 else 300.0) for n in range(1500)}
    mh.put({**flows, 1500: 100.0, 1600: 100.0}, channel=mh.flow)
    mh.judge(after=2000)
    screen_slugs(mh.engine, now=AT + timedelta(minutes=2000), release="test")
    assert mh.count("exceedance") == 0
    amend('factor: "5"', 'factor: "2"')
    assert read_rules(mh) == 1
    screen_slugs(mh.engine, now=AT + timedelta(minutes=2000), release="test")
    assert mh.count("exceedance") == 1
