"""Defective samples: what is found, from when a hold runs, what a result may be used for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from compliance.errors import InputError
from compliance.model.parameters import Parameter
from compliance.model.samples import Result, Sample, SampleType, TakenBy
from compliance.model.units import Unit
from compliance.rules.methods import method_table
from compliance.sampling.defects import Fault, Handling, Use, examine, may_use, printed, reasoned

ZONE = ZoneInfo("America/Chicago")
END = datetime(2026, 11, 3, 6, 0, tzinfo=UTC)
COMPOSITE = Sample(
    label="K-1", point="MH-1", sampled_from=END - timedelta(hours=24), sampled_to=END,
    sample_type=SampleType.COMPOSITE, taken_by=TakenBy.INDUSTRIAL_USER, laboratory="Lab",
)  # fmt: skip


def result(of: Parameter, method: str | None = None) -> Result:
    return Result(
        parameter=of, qualifier="", value=Decimal(180), written="180", unit=Unit.MG_L, method=method
    )


BOD = result(Parameter.BOD5, "SM 5210 B-2016")


def faults(sample: Sample, one: Result, **handling: object) -> list[Fault]:
    found = examine(sample, one, Handling(**handling), zone=ZONE)  # type: ignore[arg-type]
    return [defect.fault for defect in found.defects]


@pytest.mark.parametrize(("hours", "found"), [(48, []), (48.1, [Fault.HOLD])])
def test_a_hold_runs_from_the_end_of_the_composite(hours: float, found: list[Fault]) -> None:
    assert faults(COMPOSITE, BOD, analysed_at=END + timedelta(hours=hours)) == found


def test_a_day_alone_is_late_only_on_every_reading_of_it() -> None:
    day = replace(COMPOSITE, sampled_from=date(2026, 11, 2), sampled_to=date(2026, 11, 3))
    assert faults(day, BOD, analysed_at=date(2026, 11, 6)) == []  # from 48 h on, to the minute
    assert faults(day, BOD, analysed_at=date(2026, 11, 7)) == [Fault.HOLD]


def test_what_a_report_does_not_say_is_no_defect_and_is_told() -> None:
    found = examine(COMPOSITE, result(Parameter.BOD5), Handling(), zone=ZONE)
    assert found.defects == ()
    assert found.unknown == (
        "the report does not say when it was analysed",
        "the method is not stated",
    )


@pytest.mark.parametrize(
    "of", [Parameter.PH, Parameter.PETROLEUM_OIL, Parameter.CYANIDE, Parameter.SULFIDE]
)
def test_a_composite_of_what_is_taken_as_a_grab_is_defective(of: Parameter) -> None:
    assert Fault.SAMPLE_TYPE in faults(COMPOSITE, result(of))
    grab = replace(COMPOSITE, sample_type=SampleType.GRAB, sampled_from=END)
    assert Fault.SAMPLE_TYPE not in faults(grab, result(of))


def test_a_warm_sample_and_an_unknown_method_are_defects() -> None:
    at = END + timedelta(hours=2)
    assert faults(COMPOSITE, BOD, analysed_at=at, received_c=Decimal("6.0")) == []
    warm = faults(COMPOSITE, BOD, analysed_at=at, received_c=Decimal("6.1"))
    assert warm == [Fault.TEMPERATURE]
    assert faults(COMPOSITE, result(Parameter.BOD5, "house test"), analysed_at=at) == [Fault.METHOD]


def test_a_defective_result_counts_for_nothing_by_itself_and_never_for_a_bill() -> None:
    late = examine(COMPOSITE, BOD, Handling(analysed_at=END + timedelta(days=4)), zone=ZONE).defects
    reason = reasoned("late BOD can only lose", by="Dan Moe", at=END)
    assert not any(may_use(late, use) for use in Use)
    assert may_use(late, Use.AGAINST_THE_USER, reason=reason)
    assert not may_use(late, Use.BILL, reason=reason)
    assert not may_use(late, Use.SHOWS_COMPLIANCE, reason=reason)
    assert all(may_use((), use) for use in Use)


def test_what_is_wrong_is_printed_with_its_text() -> None:
    late = examine(COMPOSITE, BOD, Handling(analysed_at=END + timedelta(days=4)), zone=ZONE).defects
    lines = printed(late)
    assert "was analysed 96 h after the end of the sample, and keeps for 48 h" in lines[0]
    assert "40 CFR 136.3" in lines[0]
    assert lines[-1] == "so the result counts neither for nor against by itself"
    said = printed(late, reason=reasoned("late BOD can only lose", by="Dan Moe", at=END))
    assert said[-1] == "used against the user by Dan Moe: late BOD can only lose"


def test_a_reason_too_short_to_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="at least 8 characters"):
        reasoned("late", by="Dan Moe", at=END)


def test_the_table_marks_what_was_not_read_in_the_text() -> None:
    assert [row.parameters for row in method_table().rows if not row.confirmed] == [
        (Parameter.MERCURY,)
    ]
