"""The worked cases of ``cases/screening.json``: inputs and the flags that are right for them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compliance.judging import screening
from compliance.model.flags import Flag, FlagArray

_CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "screening.json"
CASES = json.loads(_CASES.read_text()) if _CASES.exists() else []


def _values(case: dict[str, Any]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in case["input"]["values"]], float)


def _at_us(case: dict[str, Any]) -> np.ndarray:
    return np.array(
        [0 if t is None else _us(datetime.fromisoformat(t)) for t in case["input"]["times"]],
        np.int64,
    )


def _us(at: datetime) -> int:
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)


def _gross_range(case: dict[str, Any]) -> FlagArray:
    wanted = case["params"]
    suspect = wanted.get("suspect_span")
    return screening.gross_range(
        _values(case),
        fail=tuple(wanted["fail_span"]),
        suspect=None if suspect is None else tuple(suspect),
    )


def _spike(case: dict[str, Any]) -> FlagArray:
    wanted = case["params"]
    return screening.spike(
        _values(case),
        suspect=wanted.get("suspect_threshold"),
        fail=wanted.get("fail_threshold"),
        by_mean=wanted.get("method", "average") == "average",
    )


def _rate_of_change(case: dict[str, Any]) -> FlagArray:
    return screening.rate_of_change(
        _values(case), _at_us(case), most_per_second=case["params"]["threshold"]
    )


def _flat_line(case: dict[str, Any]) -> FlagArray:
    at_us, wanted = _at_us(case), case["params"]
    return screening.flat_line(
        _values(case),
        at_us,
        interval_us=int(np.median(np.diff(at_us))),
        suspect_seconds=wanted["suspect_threshold"],
        fail_seconds=wanted["fail_threshold"],
        tolerance=wanted["tolerance"],
    )


def _climatology(case: dict[str, Any]) -> FlagArray:
    wanted = case["params"]
    assert wanted["period"] == "month"
    first, last = wanted["tspan"]
    months = [datetime.fromisoformat(t).month for t in case["input"]["times"]]
    in_season = np.array([first <= month <= last for month in months])
    return screening.climatology(_values(case), in_season, suspect=tuple(wanted["vspan"]))


def _time_gap(case: dict[str, Any]) -> FlagArray:
    return screening.time_gap(
        _at_us(case),
        most_seconds=case["params"]["fail_span_hours"] * 3600,
        is_missing=np.array([t is None for t in case["input"]["times"]]),
    )


TESTS = {
    "gross_range": _gross_range,
    "spike": _spike,
    "rate_of_change": _rate_of_change,
    "flat_line": _flat_line,
    "climatology": _climatology,
    "time_gap": _time_gap,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_flags_of_a_worked_case(case: dict[str, Any]) -> None:
    assert TESTS[case["test"]](case).tolist() == case["expected_flags"]


def test_the_worked_cases_are_there(shared: Path) -> None:
    assert len(json.loads((shared / "cases" / "screening.json").read_text())) >= 8
    assert {Flag(f) for case in CASES for f in case["expected_flags"]} == set(Flag)
