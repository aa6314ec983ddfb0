"""What of a rule judging depends on, and from which day on two readings of it differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from compliance.rules import book
from compliance.rules.rulings import Content, content, differs_from, on_readings
from compliance.rules.schema import Judge, LimitRule

OLD = {"effective": "2016-01-01", "at_most": "9.0"}
NEW = {"effective": "2026-07-07", "at_most": "8.5"}


def rule(*versions: dict[str, Any], **frame: Any) -> Content:
    return {"id": "x.ph", "unit": "s.u.", **frame, "versions": list(versions)}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (rule(OLD), rule(OLD), None),
        (rule(OLD), rule({**OLD, "ended": "2026-07-07"}, NEW), date(2026, 7, 7)),
        (rule(OLD), rule({**OLD, "ended": "2026-07-07"}), date(2026, 7, 7)),
        (rule({**OLD, "ended": "2026-07-07"}), rule(OLD), date(2026, 7, 7)),
        (rule(OLD), rule({**OLD, "at_most": "8.5"}), date(2016, 1, 1)),
        (rule(OLD), rule({**OLD, "effective": "2015-01-01"}), date(2015, 1, 1)),
        (rule(OLD), rule(OLD, unit="degF"), date(2016, 1, 1)),
        (rule(OLD), rule({"effective": None, "at_most": "9.0"}), date.min),
        (None, rule(OLD), date(2016, 1, 1)),
        (rule(OLD), None, date(2016, 1, 1)),
        (None, None, None),
    ],
)
def test_two_contents_differ_from_a_day_on(
    old: Content | None, new: Content | None, expected: date | None
) -> None:
    assert differs_from(old, new) == expected


def test_words_change_nothing_and_figures_do() -> None:
    (found,) = [r for r in on_readings(("prescott",)).values() if r.id == "prescott.ph"]
    assert isinstance(found, LimitRule)
    worded = found.model_copy(update={"says": "Otherwise.", "citation": "§ 1", "note": "n"})
    version = found.versions[0].model_copy(update={"note": "n", "adopted": date(2017, 1, 1)})
    assert content(worded.model_copy(update={"versions": (version,)})) == content(found)
    version = found.versions[0].model_copy(update={"at_most": found.versions[0].at_least})
    other = found.model_copy(update={"versions": (version,)})
    assert content(other) != content(found)


@pytest.mark.parametrize("names", [("prescott", "federal"), ("monona", "federal")])
def test_all_rules_that_bind_on_readings_are_looked_at(names: Sequence[str]) -> None:
    folded = {
        r.id
        for name in names
        for r in book.book(name).of(LimitRule)
        if r.judged_by is Judge.PROGRAM and ("meter" in (*r.enforceable_on, *r.screened_on))
    }
    assert folded <= {r.id for r in on_readings(tuple(names)).values()} | {
        r.id for name in names for r in book.book(name).of(LimitRule) if r.applies_at == "plant"
    }
