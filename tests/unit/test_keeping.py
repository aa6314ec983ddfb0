"""Whether the readings of a month may go: by the schedule, unless something rests on them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.model.keeping import (
    MARGIN,
    Claim,
    Fate,
    Hold,
    Line,
    Schedule,
    fate,
    holds,
    month_of,
    months,
    open_parts,
    removable,
)
from compliance.model.parameters import Parameter
from compliance.model.periods import Period, Window

CHICAGO = ZoneInfo("America/Chicago")
SEVEN = Line(name="WW-1", years=7, citation="Wis. Stat. § 19.21")
MARCH = month_of(date(2019, 3, 15))
AT = datetime(2019, 3, 10, tzinfo=UTC)
OLD = datetime(2010, 1, 1, tzinfo=UTC)


def asked(
    today: date, *claims: Claim, held: tuple[Hold, ...] = (), line: Line | None = SEVEN
) -> Fate:
    return fate(
        MARCH.window(CHICAGO),
        MARCH,
        line=line,
        holds=held,
        claims=claims,
        today=today,
        zone=CHICAGO,
    )


def hold(**values: object) -> Hold:
    said = {"id": 4, "over": "point MH-1", "since": None, "until": None, "reason": "the lawsuit",
            "placed_by": "Dan Moe", "placed_at": AT}  # fmt: skip
    return Hold(**{**said, **values})


def claim(settled_at: datetime | None, *, days: int = 1) -> Claim:
    end = AT + timedelta(days=days)
    return Claim(what="detection 12", since=AT, until=end, settled_at=settled_at)


@pytest.mark.parametrize(("today", "goes"), [(date(2026, 3, 31), False), (date(2026, 4, 1), True)])
def test_a_month_goes_when_its_last_day_is_old_enough(today: date, goes: bool) -> None:
    found = asked(today)
    assert (found.goes, found.line, found.free_on) == (goes, SEVEN, date(2026, 4, 1))
    assert found.why == (() if goes else ("younger than 7 years",))


def test_without_a_line_nothing_goes() -> None:
    assert asked(date(2100, 1, 1), line=None).why == ("no line of the schedule covers it",)


def test_a_line_that_names_a_parameter_comes_before_the_one_for_all_others() -> None:
    flow = Line(name="WW-2", years=3, citation="c", parameters=frozenset({Parameter.FLOW}))
    schedule = Schedule(adopted_on=date(2026, 1, 1), adopted_by="Council", lines=(SEVEN, flow))
    assert schedule.line_for(Parameter.FLOW) is flow
    assert schedule.line_for(Parameter.PH) is SEVEN
    alone = Schedule(adopted_on=date(2026, 1, 1), adopted_by="Council", lines=(flow,))
    assert alone.line_for(Parameter.PH) is None


@pytest.mark.parametrize(
    ("since", "until", "stays"),
    [
        (None, None, True),
        (None, datetime(2019, 3, 1, 6, tzinfo=UTC), False),  # up to the month's first instant
        (None, datetime(2019, 3, 1, 7, tzinfo=UTC), True),
        (datetime(2019, 4, 1, 5, tzinfo=UTC), None, False),  # April begins at the plant
        (datetime(2019, 4, 1, 4, tzinfo=UTC), None, True),
    ],
)
def test_a_hold_keeps_what_it_covers(
    since: datetime | None, until: datetime | None, stays: bool
) -> None:
    found = asked(date(2030, 1, 1), held=(hold(since=since, until=until),))
    assert found.why == (("hold 4: the lawsuit",) if stays else ())


def test_a_lifted_hold_keeps_nothing() -> None:
    assert asked(date(2030, 1, 1), held=(hold(lifted_at=AT, lifted_by="Dan Moe"),)).goes


def test_what_is_not_closed_keeps_the_readings_it_rests_on_for_ever() -> None:
    assert asked(date(2100, 1, 1), claim(None)).why == (
        "detection 12 rests on it and is not closed",
    )


def test_the_years_of_what_is_closed_run_from_then() -> None:
    closed = claim(datetime(2020, 6, 2, 3, tzinfo=UTC))  # the evening of 1 June at the plant
    assert asked(date(2027, 5, 31), closed).why == (
        "detection 12 rests on it and was closed on 2020-06-01, less than 7 years ago",
    )
    assert asked(date(2027, 6, 1), closed).goes


def test_what_rests_on_other_times_keeps_nothing() -> None:
    assert asked(date(2030, 1, 1), Claim(what="x", since=OLD, until=AT - timedelta(days=30),
                                         settled_at=None)).goes  # fmt: skip


def test_every_reason_is_told() -> None:
    found = asked(date(2020, 1, 1), claim(None), held=(hold(), hold(id=5)))
    assert found.why == ("younger than 7 years", "hold 4: the lawsuit", "hold 5: the lawsuit")


def test_months_follow_one_another() -> None:
    found = list(months(date(2019, 11, 30), date(2020, 2, 1)))
    assert [one.start for one in found] == [
        date(2019, 11, 1), date(2019, 12, 1), date(2020, 1, 1), date(2020, 2, 1),
    ]  # fmt: skip
    assert all(isinstance(one, Period) for one in found)


def window(month: int) -> Window:
    return month_of(date(2019, month, 1)).window(CHICAGO)


def test_margins_are_left_towards_what_stays_and_go_with_it() -> None:
    march, last = window(3), window(12).end
    alone = removable(march, (), first=OLD, last=last)
    assert alone == Window(start=march.start + MARGIN, end=march.end - MARGIN)
    oldest = removable(march, (), first=march.start, last=last)
    assert oldest == Window(start=march.start, end=march.end - MARGIN)
    april = removable(window(4), (march,), first=march.end - MARGIN, last=last)
    assert april == Window(start=march.end - MARGIN, end=window(4).end - MARGIN)
    between = removable(window(4), (march, window(5)), first=OLD, last=last)
    assert between == Window(start=march.end - MARGIN, end=window(5).start + MARGIN)
    newest = removable(march, (), first=march.start, last=march.start + timedelta(days=9))
    assert newest == march


STEP = timedelta(hours=12)


@settings(deadline=None)
@given(order=st.permutations(range(1, 7)), count=st.integers(0, 6))
def test_whatever_the_order_what_stays_keeps_its_neighbours(order: list[int], count: int) -> None:
    """Half days of half a year: nothing goes that is open or within the margin of what is."""
    first, last = window(1).start, window(6).end - STEP
    every = [first + n * STEP for n in range((last - first) // STEP + 1)]
    left, closed = set(every), list[Window]()
    for month in order[:count]:
        span = removable(window(month), closed, first=min(left), last=max(left))
        left -= {at for at in left if span.holds(at)}
        closed.append(window(month))
        if not left:
            break
    stays = {at for at in every if not holds(closed, at)}
    assert stays <= left
    for at in set(every) - left:
        assert stays.isdisjoint(at + n * STEP for n in range(-5, 6))
    assert count < 6 or not left


@given(
    closed=st.sets(st.integers(1, 12)),
    start=st.integers(0, 8000),
    length=st.integers(1, 8000),
)
def test_open_parts_are_just_what_no_closed_month_holds(
    closed: set[int], start: int, length: int
) -> None:
    shut = [window(month) for month in closed]
    base = window(1).start
    span = Window(start=base + timedelta(hours=start), end=base + timedelta(hours=start + length))
    parts = list(open_parts(span, shut))
    for hours in range(0, length, 7):
        at = span.start + timedelta(hours=hours)
        assert holds(parts, at) == (not holds(shut, at))
    assert all(span.start <= one.start <= one.end <= span.end for one in parts)
