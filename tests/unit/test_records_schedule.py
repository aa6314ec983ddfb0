"""A records schedule as a file: read, or refused in one sentence that says what is wrong."""

from __future__ import annotations

from datetime import date

import pytest

from compliance.errors import InputError
from compliance.model.parameters import Parameter
from compliance.rules.keeping import floor, parse

TODAY = date(2026, 11, 30)
GOOD = """
records_schedule: prescott
adopted_on: 2026-11-03
adopted_by: Common Council, Resolution 26-41
lines:
  - {line: WW-1, records: readings, years: 7, citation: Wis. Stat. § 19.21}
  - {line: WW-2, records: readings, parameters: [level, velocity], years: 3, citation: ours}
"""


def parsed(text: str):
    return parse(text, file="s.yaml", today=TODAY)


def test_a_schedule_is_read() -> None:
    schedule = parsed(GOOD).schedule
    assert (schedule.adopted_on, schedule.adopted_by) == (
        date(2026, 11, 3),
        "Common Council, Resolution 26-41",
    )
    general, level = schedule.line_for(Parameter.PH), schedule.line_for(Parameter.LEVEL)
    assert general and (general.name, general.years) == ("WW-1", 7)
    assert level and (level.name, level.years) == ("WW-2", 3)


def test_the_floor_is_three_years_by_federal_law() -> None:
    least = floor(TODAY)
    assert least.years == 3
    assert "403.12(o)" in least.citation


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("years: 3", "years: 2", "s.yaml: lines.1.years is 2 (line WW-2); expected 3 or more, by "),
        ("years: 7", "years: 7.5", "s.yaml: lines.0.years is '7.5': "),
        ("years: 7", "years: '7'", "s.yaml: lines.0.years is '7': Input should be a valid integer"),
        (", citation: ours", "", "s.yaml: lines.1.citation is absent; expected it"),
        ("citation: ours", "citation: ' '", "s.yaml: lines.1.citation is "),
        ("adopted_on: 2026-11-03\n", "", "s.yaml: adopted_on is absent"),
        ("adopted_by: Common Council, Resolution 26-41\n", "", "s.yaml: adopted_by is absent"),
        ("2026-11-03", "2026-12-01", "s.yaml: adopted_on is 2026-12-01, which is still to come"),
        ("[level, velocity]", "[levle]", "s.yaml: lines.1.parameters.0 is 'levle'"),
        (", parameters: [level, velocity]", "", "s.yaml: two lines cover all others"),
        ("[level, velocity]", "[level, level]", "s.yaml: two lines cover level"),
        ("line: WW-2", "line: WW-1", "s.yaml: two lines have one name"),
        ("records: readings, years", "records: bills, years", "s.yaml: lines.0.records is 'bills'"),
        ("records_schedule: prescott", "city: prescott", "s.yaml: records_schedule is absent"),
        ("lines:", "rows:", "s.yaml: lines is absent"),
        (GOOD, "records_schedule: [", "s.yaml, line 1: this is not YAML"),
        (GOOD, "- a", "s.yaml: no records schedule"),
    ],
)
def test_what_cannot_be_meant_is_refused(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parsed(GOOD.replace(old, new, 1))
    said = str(error.value)
    assert "\n" not in said
    assert said.startswith(sentence), said
