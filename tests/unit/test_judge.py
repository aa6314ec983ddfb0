"""Judging as composed: exact conversion at a bound, versions in time, facts with stable ids."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.judging.judge import Judgment, Origin, convert, judge_series, usable
from compliance.judging.results import Outcome, Verdict, judge_result
from compliance.model.findings import Authority
from compliance.model.parameters import Parameter
from compliance.model.periods import to_us
from compliance.model.readings import Series
from compliance.model.samples import Result, Sample, SampleType, TakenBy
from compliance.model.units import Unit, linear
from compliance.rules.book import find
from compliance.rules.schema import LimitRule, SampleSource

CHICAGO = ZoneInfo("America/Chicago")


def limit(rule_id: str) -> LimitRule:
    rule = find(rule_id)[1]
    assert isinstance(rule, LimitRule)
    return rule


def series(*values: float, at: datetime = datetime(2026, 3, 1, tzinfo=UTC)) -> Series:
    count = len(values)
    return Series(
        at_us=to_us(at) + np.arange(count, dtype=np.int64) * 60_000_000,
        value=np.array(values, float),
        quality=np.zeros(count, np.int64),
        interval_us=np.full(count, 60_000_000, np.int64),
    )


def judge(rule_id: str, of: Series, unit: Unit) -> Judgment:
    origin = Origin(
        source=SampleSource.METER, unit=unit, key="7", text=lambda at_us, value: f"{value:.2f}"
    )
    return judge_series(limit(rule_id), of, origin=origin, zone=CHICAGO, rejoin_us=300_000_000)


@pytest.mark.parametrize(("celsius", "broken"), [(65.5, False), (65.6, True)])
def test_fahrenheit_governs_for_a_meter_in_celsius(celsius: float, broken: bool) -> None:
    found = judge("prescott.temperature", series(20.0, celsius, 20.0), Unit.DEG_C).facts
    assert bool(found) == broken


@given(st.decimals("-50", "200", places=4), st.sampled_from([Unit.DEG_C, Unit.DEG_F]))
def test_a_converted_reading_lies_where_its_exact_decimal_lies(value: Decimal, own: Unit) -> None:
    factor, offset = linear(own, Unit.DEG_F)
    exact = Fraction(value) * factor + offset
    edge = Decimal(exact.numerator) / Decimal(exact.denominator)
    for bound in (edge, edge + Decimal("1e-20"), edge - Decimal("1e-20")):
        got = float(convert(series(float(value)), own, Unit.DEG_F, near=[bound]).value[0])
        assert (got > float(bound), got < float(bound)) == (exact > bound, exact < bound)


def test_a_number_longer_than_a_float_still_passes_the_limit() -> None:
    found = convert(
        series(9.0), Unit.SU, Unit.SU, near=[Decimal("9.0")],
        exact=lambda at: Decimal("9.00000000000000000001"),
    )  # fmt: skip
    assert found.value[0] > 9.0


def test_what_physics_forbids_is_not_judged() -> None:
    assert usable(series(-0.1, 0.0, 14.0, 14.1, np.nan), Parameter.PH).value.tolist() == [0, 14]


def test_nothing_is_judged_before_the_rule_was_in_force() -> None:
    start = datetime(2017, 6, 12, 4, 50, tzinfo=UTC)  # ten minutes before midnight in Wisconsin
    found = judge("prescott.ph", series(*[5.0] * 20, at=start), Unit.SU)
    (fact,) = found.facts
    assert fact.starts_at == datetime(2017, 6, 12, 5, 0, tzinfo=UTC)
    assert fact.effective == date(2017, 6, 12)
    assert found.without_version == ((start, datetime(2017, 6, 12, 5, 0, tzinfo=UTC)),)


def test_judging_twice_gives_the_same_ids() -> None:
    of = series(7.0, 5.0, 7.0, 10.0, 7.0)
    once, twice = judge("prescott.ph", of, Unit.SU), judge("prescott.ph", of, Unit.SU)
    assert once == twice
    assert len({fact.id for fact in once.facts}) == 2


def test_an_oil_monitor_only_screens() -> None:
    (fact,) = judge("prescott.petroleum_oil", series(20.0, 25.0, 25.1), Unit.MG_L).facts
    assert fact.authority is Authority.PROGRAM


def test_a_fact_shows_its_working() -> None:
    (fact,) = judge("prescott.ph", series(7.0, 5.0, 7.0), Unit.SU).facts
    assert "worst 5.00 s.u. below the limit, at least 6.0 s.u." in fact.working


GRAB = Sample(
    label="L-1",
    point="MH-1",
    sampled_from=datetime(2026, 3, 1, 15, tzinfo=UTC),
    sampled_to=datetime(2026, 3, 1, 15, tzinfo=UTC),
    sample_type=SampleType.GRAB,
    taken_by=TakenBy.INDUSTRIAL_USER,
    laboratory=None,
)


def verdict(
    written: str,
    *,
    qualifier: str = "",
    kind: Parameter = Parameter.PETROLEUM_OIL,
    unit: Unit = Unit.MG_L,
    sample_type: SampleType | None = SampleType.GRAB,
) -> Verdict:
    rule = limit("prescott.petroleum_oil")
    result = Result(
        parameter=kind, qualifier=qualifier, value=Decimal(written), written=written, unit=unit
    )
    sample = Sample(
        label="L-1", point="MH-1", sampled_from=GRAB.sampled_from, sampled_to=GRAB.sampled_to,
        sample_type=sample_type, taken_by=TakenBy.INDUSTRIAL_USER, laboratory=None,
    )  # fmt: skip
    return judge_result(
        rule, rule.versions[0], result, sample=sample, result_key="r1", zone=CHICAGO
    )


OIL_AND_GREASE = Parameter.OIL_AND_GREASE


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (verdict("25"), Outcome.COMPLIES),
        (verdict("25.0"), Outcome.COMPLIES),
        (verdict("25.1"), Outcome.EXCEEDS),
        (verdict("5", qualifier="<"), Outcome.COMPLIES),
        (verdict("25", qualifier="<"), Outcome.COMPLIES),
        (verdict("30", qualifier="<"), Outcome.NOT_SENSITIVE),
        (verdict("25", qualifier=">"), Outcome.EXCEEDS),
        (verdict("20", qualifier=">"), Outcome.SHOWS_NOTHING),
        (verdict("18", kind=OIL_AND_GREASE), Outcome.COMPLIES),
        (verdict("131", kind=OIL_AND_GREASE), Outcome.SHOWS_NOTHING),
        (verdict("30", qualifier="<", kind=OIL_AND_GREASE), Outcome.NOT_SENSITIVE),
        (verdict("200", sample_type=SampleType.COMPOSITE), Outcome.WRONG_SAMPLE_TYPE),
        (verdict("200", sample_type=None), Outcome.WRONG_SAMPLE_TYPE),
        (verdict("25100", unit=Unit.UG_L), Outcome.EXCEEDS),
        (verdict("25000", unit=Unit.UG_L), Outcome.COMPLIES),
    ],
)
def test_what_a_laboratory_result_shows(found: Verdict, outcome: Outcome) -> None:
    assert found.outcome is outcome
    assert (found.exceedance is not None) == (outcome is Outcome.EXCEEDS)
    assert found.reason


def test_a_result_that_exceeds_becomes_a_fact_under_the_ordinance() -> None:
    fact = verdict("25100", unit=Unit.UG_L).exceedance
    assert fact is not None
    assert (fact.worst, fact.limit, fact.unit) == ("25.100", "25", Unit.MG_L)
    assert (fact.seconds, fact.readings, fact.settled) == (0, 1, True)
    assert fact.authority is Authority.ORDINANCE


def test_fat_above_the_limit_asks_for_the_right_analysis() -> None:
    assert "ask the laboratory for" in verdict("131", kind=OIL_AND_GREASE).reason
