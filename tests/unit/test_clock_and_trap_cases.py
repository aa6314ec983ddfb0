"""Cases D31, D33, D35: whose clock runs from when; what is never multiplied and never averaged."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compliance.enforcing.awareness import owed
from compliance.errors import InputError
from compliance.judging.excursions import step
from compliance.judging.measurements import refuse_average, threshold
from compliance.judging.refold import REJOIN_US
from compliance.judging.snc_rules import snc_rule
from compliance.model.noncompliance import Bound
from compliance.model.parameters import Parameter
from compliance.model.readings import Series
from compliance.model.units import Quantity, Unit

DAY = date(2026, 11, 30)


def case(shared: Path, wanted: str) -> Any:
    cases = json.loads((shared / "cases" / "regulation.json").read_text())
    return next(one for one in cases if one["id"] == wanted)


def test_d31_the_call_is_due_24_hours_after_awareness_and_the_repeat_30_days(shared: Path) -> None:
    given = case(shared, "D31")
    found = owed(datetime.fromisoformat(given["inputs"]["became_aware"]))
    assert found.call_by.isoformat() == given["expected"]["notify_by"]
    assert found.repeat_by.isoformat() == given["expected"]["repeat_results_submitted_by"]


def test_d31_needs_to_know_the_zone() -> None:
    with pytest.raises(InputError, match="there is no zone"):
        owed(datetime.fromisoformat("2025-03-04T14:30:00"))


@pytest.mark.parametrize("rules", ["federal", "wisconsin"])
def test_d33_a_temperature_is_never_multiplied(shared: Path, rules: str) -> None:
    given, expected = case(shared, "D33")["inputs"], case(shared, "D33")["expected"]
    assert expected["must_not_multiply"]
    factor = Decimal(str(given["trc"]))
    warm = [
        Quantity(value=Decimal(str(given[name])) * factor, unit=unit).to(Unit.DEG_F).value
        for name, unit in (("limit_F", Unit.DEG_F), ("limit_C", Unit.DEG_C))
    ]
    assert abs(warm[0] - warm[1]) > 6  # what the unit alone would change
    for unit, most in ((Unit.DEG_F, given["limit_F"]), (Unit.DEG_C, given["limit_C"])):
        bound = Bound(unit=unit, at_least=None, at_most=Decimal(str(most)))
        assert threshold(bound, Parameter.TEMPERATURE, snc_rule(rules, DAY)) is None


def test_d35_ph_is_judged_reading_by_reading_and_never_averaged(shared: Path) -> None:
    given, expected = case(shared, "D35")["inputs"], case(shared, "D35")["expected"]
    low, high = given["range"]
    values = np.array(given["results"], float)
    assert low <= values.mean() == expected["arithmetic_mean"] <= high  # would hide it
    readings = Series(
        at_us=np.array([0, 60_000_000]),
        value=values,
        quality=np.zeros(2, np.int64),
        interval_us=np.full(2, 60_000_000),
    )
    _, found = step(None, readings, at_least=low, at_most=high, rejoin_us=REJOIN_US, until_us=None)
    assert len(found) == expected["violations"]
    with pytest.raises(InputError, match="never averaged"):
        refuse_average(Parameter.PH)
