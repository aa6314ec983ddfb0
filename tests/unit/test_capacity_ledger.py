"""The ledger, documents that differ, trends; cases P23, P25, P27, P37, D25, D27 by their ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.judging.agreements import (
    Design,
    LoadDay,
    Reach,
    Shares,
    Trigger,
    early,
    shares,
)
from compliance.judging.capacity import (
    ledger,
    middle_tier_flow,
    percent_of_design,
    points_factor,
    population_equivalent,
    process_flow,
)
from compliance.judging.documents import by_document, design, governing, settled
from compliance.judging.rolling import Point, forecast, rolling, series
from compliance.model.agreements import AgreementState, ServiceAgreement
from compliance.model.capacity import Facility, FacilityKind, Figure, Note, Paper, Request, What
from compliance.model.parameters import Parameter

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "regulation.json"
TRIGGER = Trigger(at_least=Decimal(10), approaching=Decimal(8), months=12)
LIFT = Facility(id=4, kind=FacilityKind.LIFT_STATION, name="Elm Street")
PLANT = Facility(id=0, kind=FacilityKind.PLANT, name="Plant")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
START = date(2025, 7, 1)
DESIGN = Design(
    flow_mgd=Decimal("0.7"), loads_lb_day={Parameter.BOD5: Decimal(1400)}, source="CMAR 2025"
)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    if not CASES.exists():
        pytest.skip("the cases are not here")
    found: dict[str, Any] = next(
        one for one in json.loads(CASES.read_text()) if one["id"] == request.param
    )
    return found


def near(found: Fraction | Decimal, case: dict[str, Any], name: str) -> bool:
    return abs(float(found) - case["expected"][name]) <= case["tolerance"]


@pytest.mark.parametrize("case", ["P23"], indirect=True)
def test_p23_a_plant_at_sixty_percent(case: dict[str, Any]) -> None:
    influent, full = (Decimal(str(case["inputs"][n])) for n in ("influent_MGD", "design_MGD"))
    assert near(percent_of_design(influent, full), case, "percent_of_design")


@pytest.mark.parametrize("case", ["P25"], indirect=True)
def test_p25_an_intermittent_discharger(case: dict[str, Any]) -> None:
    found = points_factor(case["inputs"]["months_of_discharge"])
    assert near(found, case, "points_multiplication_factor")


@pytest.mark.parametrize("case", ["P27"], indirect=True)
def test_p27_people_of_a_flow_and_a_strength(case: dict[str, Any]) -> None:
    flow, bod, factor, each = (
        Decimal(str(case["inputs"][name]))
        for name in ("flow_MGD", "BOD_mg_L", "factor", "lb_per_person_day")
    )
    pounds = flow * bod * factor
    assert near(pounds, case, "BOD_lb")
    assert near(population_equivalent(pounds, lb_per_person=each), case, "population_equivalent")


@pytest.mark.parametrize("case", ["P37"], indirect=True)
def test_p37_people_of_a_load(case: dict[str, Any]) -> None:
    pounds, each = (
        Decimal(str(case["inputs"][name])) for name in ("BOD_lb_day", "lb_per_person_day")
    )
    assert near(population_equivalent(pounds, lb_per_person=each), case, "population_equivalent")


@pytest.mark.parametrize("case", ["D25"], indirect=True)
def test_d25_only_process_flow_counts(case: dict[str, Any]) -> None:
    streams = {name: Decimal(value) for name, value in case["inputs"].items()}
    excluded = ("sanitary_gpd", "noncontact_cooling_gpd", "boiler_blowdown_gpd")
    counted = process_flow(streams, excluded=excluded)
    assert counted == case["expected"]["counted_gpd"]
    assert (counted >= 25_000) is case["expected"]["siu_by_flow"]


@pytest.mark.parametrize("case", ["D27"], indirect=True)
def test_d27_the_middle_tier_is_the_smaller_of_two_bounds(case: dict[str, Any]) -> None:
    mgd = Decimal(str(case["inputs"]["design_dry_weather_MGD"]))
    found = middle_tier_flow(mgd, percent=Decimal("0.01"), most_gpd=Decimal(5000))
    assert found == case["expected"]["max_categorical_flow_gpd"]
    large = middle_tier_flow(Decimal(100), percent=Decimal("0.01"), most_gpd=Decimal(5000))
    assert large == 5000


@pytest.mark.parametrize("months", [0, 13])
def test_a_year_has_one_to_twelve_months(months: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to 12"):
        points_factor(months)


def figure(value: str, *, number: int = 1, what: What = What.DESIGN, **more: Any) -> Figure:
    given = {"facility_id": 0, "parameter": Parameter.FLOW, "dated": date(2025, 1, 1), **more}
    return Figure(
        id=number,
        what=what,
        value=Decimal(value),
        document=f"paper {number}",
        paper=Paper.OTHER,
        **given,
    )


def note(number: int) -> Note:
    return Note(
        facility_id=0,
        parameter=Parameter.FLOW,
        figure_id=number,
        why="the newer one",
        by="Dan",
        at=NOON,
    )


def test_left_is_design_less_used_and_reserved_with_and_without_the_request() -> None:
    figures = [
        figure("0.7"),
        figure("0.4", number=2, what=What.USED, dated=date(2024, 1, 1)),
        figure("0.5", number=3, what=What.USED, dated=date(2025, 1, 1)),
        figure("0.05", number=4, what=What.RESERVED, reserved_for="Dairy"),
        figure("0.02", number=5, what=What.RESERVED, reserved_for="School"),
    ]
    asked = Request(amounts={Parameter.FLOW: Decimal("0.03")}, through=frozenset({0}))
    line = ledger([PLANT], figures, [], asked)[0]
    assert (line.used, line.reserved) == (Decimal("0.5"), Decimal("0.07"))
    assert (line.left, line.with_request) == (Decimal("0.13"), Decimal("0.10"))
    assert line.unknown == ()


def test_what_is_not_on_record_is_not_known_and_never_nothing() -> None:
    lines = ledger([LIFT, PLANT], [figure("0.7")], [])
    assert len(lines) == 8
    assert all(line.left is None for line in lines)
    assert lines[0].unknown == ("the design is not on record", "what is used is not on record")
    assert lines[4].unknown == ("what is used is not on record",)


def test_a_facility_that_is_not_passed_has_no_figure_with_the_request() -> None:
    figures = [figure("0.7"), figure("0.5", number=2, what=What.USED)]
    asked = Request(amounts={Parameter.FLOW: Decimal("0.03")}, through=frozenset({4}))
    line = ledger([PLANT], figures, [], asked)[0]
    assert (line.left, line.with_request) == (Decimal("0.2"), None)


def test_a_request_that_does_not_say_how_much_is_told() -> None:
    asked = Request(amounts={Parameter.FLOW: Decimal("0.03")}, through=frozenset({0}))
    assert "the request does not say how much" in ledger([PLANT], [], [], asked)[1].unknown


def test_documents_that_differ_govern_nothing_until_a_note() -> None:
    two = [figure("0.7"), figure("0.95", number=2)]
    assert governing(two, [], Parameter.FLOW) is None
    assert "paper 1 and 0.95" in ledger([PLANT], two, [])[0].unknown[0]
    chosen = governing(two, [note(2)], Parameter.FLOW)
    assert chosen is not None and chosen.id == 2
    against = design(two, [note(2)])
    assert against is not None and against.flow_mgd == Decimal("0.95")
    assert design([], []) is None


@pytest.mark.parametrize(("notes", "reach"), [([], Reach.UNSETTLED), ([note(1)], Reach.REACHED)])
def test_a_share_that_one_document_reaches_waits_for_the_note(
    notes: list[Note], reach: Reach
) -> None:
    two = [figure("0.7"), figure("0.95", number=2)]
    against = design(two, notes)
    assert against is not None
    found = shares(year(70_000), against, pound_factor=Decimal("8.34"), trigger=TRIGGER)
    documents = by_document(found.shares[0], two, TRIGGER, projected=False)
    assert [one.text for one in documents] == ["10.00", "7.37"]
    share = settled(found.shares[0], documents, governing(two, notes, Parameter.FLOW))
    assert share.reach is reach
    assert any("by paper 2: 0.95 MGD, 7.37 %" in line for line in share.working)


def test_documents_that_agree_settle_nothing() -> None:
    two = [figure("0.7"), figure("0.70", number=2)]
    against = design(two, [])
    assert against is not None
    found = shares(year(70_000), against, pound_factor=Decimal("8.34"), trigger=TRIGGER)
    documents = by_document(found.shares[0], two, TRIGGER, projected=False)
    assert settled(found.shares[0], documents, None) == found.shares[0]


def year(flow: object, *, days: int = 365, until: date | None = None) -> list[LoadDay]:
    last = until or START + timedelta(days=364)
    return [LoadDay(day=last - timedelta(days=n), flow_gpd=Decimal(str(flow))) for n in range(days)]


def share(days: Sequence[LoadDay]) -> Shares:
    return shares(days, DESIGN, pound_factor=Decimal("8.34"), trigger=TRIGGER)


def test_ten_percent_exactly_reaches_and_a_hair_less_does_not_and_prints_so() -> None:
    assert share(year(70_000)).required is True
    found = share(year("69999.993"))
    assert found.required is False
    assert found.shares[0].text == "9.999999"


def test_a_month_without_any_record_leaves_fewer_than_twelve() -> None:
    days = [day for day in year(140_000) if (day.day.year, day.day.month) != (2025, 12)]
    assert share(days).projected is True
    one = [*days, LoadDay(day=date(2025, 12, 9), flow_gpd=Decimal(140_000))]
    assert share(one).projected is False


def test_a_blank_first_day_leaves_twelve_months() -> None:
    days = sorted(year(140_000), key=lambda day: day.day)
    days[0] = LoadDay(day=days[0].day, flow_gpd=None)
    assert share(days).required is True


def test_a_short_window_warns_and_never_requires() -> None:
    found = early(year(70_000), DESIGN, length=30, pound_factor=Decimal("8.34"), trigger=TRIGGER)
    assert (found.days, found.required) == (30, False)
    assert found.shares[0].reach is Reach.PROJECTED


def test_the_sampled_days_own_load_stands_beside_with_its_weekdays() -> None:
    strong = {Parameter.BOD5: Decimal(250)}
    days = [
        LoadDay(
            day=day.day,
            flow_gpd=Decimal(91_000 if day.day.weekday() < 5 else 0),
            strengths=strong if day.day.weekday() == 2 else {},
        )
        for day in year(0)
    ]
    bod = share(days).shares[1]
    assert bod.text == "9.69"
    assert bod.compared is not None and round(float(bod.compared), 2) == 13.55
    assert bod.weekdays == (0, 0, 52, 0, 0, 0, 0)
    assert "52 Wed" in bod.working[-1]


FLOWS = st.lists(st.integers(0, 200_000), min_size=5, max_size=30)
"""Taken again and again until a year is full."""
quickly = settings(max_examples=20, deadline=None)


@quickly
@given(FLOWS, st.randoms(use_true_random=False))
def test_the_order_of_days_changes_nothing(flows: list[int], random: Any) -> None:
    days = [
        LoadDay(
            day=START + timedelta(days=n),
            flow_gpd=Decimal(flow),
            strengths={Parameter.BOD5: Decimal(flow % 700)} if n % 7 == 0 else {},
        )
        for n, flow in enumerate(islice(cycle(flows), 365))
    ]
    shuffled = list(days)
    random.shuffle(shuffled)
    assert share(shuffled) == share(days)


@quickly
@given(FLOWS, st.integers(1, 1000))
def test_user_and_plant_of_twice_the_size_have_the_same_share(flows: list[int], by: int) -> None:
    def days(scale: int) -> list[LoadDay]:
        return [
            LoadDay(
                day=START + timedelta(days=n),
                flow_gpd=Decimal(flow * scale),
                strengths={Parameter.BOD5: Decimal(300)},
            )
            for n, flow in enumerate(islice(cycle(flows), 365))
        ]

    larger = Design(
        flow_mgd=DESIGN.flow_mgd * by,
        loads_lb_day={one: load * by for one, load in DESIGN.loads_lb_day.items()},
        source=DESIGN.source,
    )
    grown = shares(days(by), larger, pound_factor=Decimal("8.34"), trigger=TRIGGER)
    assert [one.percent for one in grown.shares] == [one.percent for one in share(days(1)).shares]


def points(*percents: object) -> list[Point]:
    return [
        Point(day=START + timedelta(days=30 * n), percent=Fraction(str(percent)))
        for n, percent in enumerate(percents)
    ]


def test_a_straight_line_names_its_day() -> None:
    found = forecast(points(7, "7.3", "7.6", "7.9", "8.2", "8.5"), TRIGGER)
    assert found.on == START + timedelta(days=300)  # 0.01 % a day: 1.5 % after 150 more
    assert "straight line" in found.says and len(found.working) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((7, 8, 9), "3 of the 6"),
        ((9, 8, 7, 6, 5, 4), "does not rise"),
        ((7, 7, 7, 7, 7, 7), "does not rise"),
        ((7, 8, 9, 10, 11, 10), "reached already"),
        ((1, "1.01", "1.02", "1.03", "1.04", "1.05"), "5 years"),
    ],
)
def test_a_forecast_is_refused_in_a_sentence(given: tuple[object, ...], said: str) -> None:
    found = forecast(points(*given), TRIGGER)
    assert found.on is None and said in found.says


def test_a_trend_has_only_whole_months() -> None:
    last = date(2026, 6, 30)
    history = rolling(
        year(50_000, days=365 + 200, until=last),
        DESIGN,
        pound_factor=Decimal("8.34"),
        trigger=TRIGGER,
    )
    assert [one.as_of for one in history][-1] == last
    assert len(series(history, Parameter.FLOW)) == 7
    assert series(history, Parameter.BOD5) == ()
    assert not any(one.projected for one in history)


def agreement(**more: Any) -> ServiceAgreement:
    given: dict[str, Any] = {"until": date(2030, 1, 1), "signed_on": date(2025, 12, 1), **more}
    return ServiceAgreement(
        id=1,
        user_id=1,
        user="Dairy",
        since=date(2026, 1, 1),
        capital_percent=Decimal("12.5"),
        conditions="pays on",
        document="Agreement",
        sha256=None,
        entered_by="Ana",
        entered_at=NOON,
        **given,
    )


@pytest.mark.parametrize(
    ("more", "on", "state"),
    [
        ({"signed_on": None}, date(2026, 6, 1), AgreementState.PROPOSED),
        ({}, date(2025, 12, 31), AgreementState.PROPOSED),
        ({}, date(2026, 1, 1), AgreementState.IN_FORCE),
        ({}, date(2029, 12, 31), AgreementState.IN_FORCE),
        ({}, date(2030, 1, 1), AgreementState.EXPIRED),
        ({"until": None}, date(2100, 1, 1), AgreementState.IN_FORCE),
        ({"released_on": date(2027, 1, 1)}, date(2026, 12, 31), AgreementState.IN_FORCE),
        ({"released_on": date(2027, 1, 1)}, date(2031, 1, 1), AgreementState.RELEASED),
    ],
)
def test_where_an_agreement_stands(more: dict[str, Any], on: date, state: AgreementState) -> None:
    assert agreement(**more).state(on) is state


@pytest.mark.parametrize(("days", "soon"), [(91, False), (90, True), (1, True), (0, False)])
def test_an_end_is_warned_of_for_ninety_days(days: int, soon: bool) -> None:
    assert agreement().ends_soon(date(2030, 1, 1) - timedelta(days=days)) is soon
