"""Channels of a point against each other, in a database: rinses, and days that a total denies."""

from __future__ import annotations

import copy
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from compliance.jobs import site
from compliance.jobs.correct import correct
from compliance.jobs.cross import check_totals
from compliance.jobs.evaluate import evaluate
from compliance.jobs.screen import screen_readings
from compliance.model.flags import Reason
from compliance.model.keeping import month_of
from compliance.model.periods import from_us
from compliance.model.readings import Quality
from compliance.records import flags, sites
from compliance.records.overlay import Correction
from tests.support.keeping import destroyed
from tests.support.manhole import AT, SITE, Manhole, manhole

MIDNIGHT = AT.replace(hour=5)
"""Of the plant, on 6 July."""
LATER = AT + timedelta(days=4)
CHICAGO = ZoneInfo("America/Chicago")


@pytest.fixture
def point(engine: Engine) -> tuple[Manhole, dict[str, int]]:
    """A manhole with pH, temperature, flow and total."""
    wide = copy.deepcopy(SITE)
    instrument = wide["cities"][0]["users"][0]["points"][0]["instruments"][0]  # type: ignore[index]
    instrument["channels"] += [
        {"entry": "ai3_value", "parameter": "temperature", "unit": "degC", "resolution": "0.1",
         "interval_s": 60},
        {"entry": "ai4_value", "parameter": "volume", "unit": "gal", "resolution": "1",
         "interval_s": 60},
    ]  # fmt: skip
    mh = manhole(engine)
    site.store(engine, site.SiteDocument.model_validate(wide))
    with engine.begin() as db:
        from_place = {p.parameter.value: c for c, p in sites.places(db).items()}
        db.exec_driver_sql(
            "INSERT INTO counting (channel_id, since, by, how) "
            "SELECT id, '1970-01-01', 'test', 'test' FROM channel c "
            "WHERE NOT EXISTS (SELECT FROM counting k WHERE k.channel_id = c.id)"
        )
    return mh, from_place


def settle(mh: Manhole, *, now=LATER) -> None:  # type: ignore[no-untyped-def]
    """Judge, screen and compare until nothing waits."""
    for _ in range(4):
        evaluate(mh.engine, now=now, release="test")
        screen_readings(mh.engine)
        check_totals(mh.engine, now=now)


def doubted(mh: Manhole, channel: int, *, start=AT) -> list[tuple[int, int]]:  # type: ignore[no-untyped-def]
    """The minutes that cross-checks doubt, as runs from first to last."""
    day = timedelta(days=3)
    with mh.engine.connect() as db:
        found = flags.between(db, [channel], since=start - day, until=start + day)
    runs: list[tuple[int, int]] = []
    for one in found.get(channel, []):
        if not one.reason & Reason.CROSS_CHECK:
            continue
        a, b = (int((from_us(at) - start).total_seconds() // 60)
                for at in (one.since_us, one.until_us))  # fmt: skip
        runs = [*runs[:-1], (runs[-1][0], b)] if runs and runs[-1][1] + 1 == a else [*runs, (a, b)]
    return runs


def stepped(low: float, high: float) -> dict[int, float]:
    return {m: high + 0.01 * (m % 3) if 60 <= m < 75 else low + 0.01 * (m % 3) for m in range(180)}


def test_a_rinse_is_doubted_under_ph_whichever_channel_came_last(point) -> None:
    mh, channels = point
    mh.put(stepped(7.2, 8.2))
    settle(mh)
    assert doubted(mh, mh.ph) == []
    mh.put(stepped(25.0, 12.0), channel=channels["temperature"], worker="late")
    settle(mh)
    assert doubted(mh, mh.ph) == [(60, 77)]
    assert doubted(mh, channels["temperature"]) == []


def day(gallons_a_minute: float, *, minutes: int = 1440) -> dict[int, float]:
    return {m: gallons_a_minute + 0.1 * (m % 5 - 2) for m in range(minutes)}


def total(gallons_a_minute: float, *, minutes: int = 1440) -> dict[int, float]:
    return {m: round(1000 + gallons_a_minute * m) for m in range(minutes)}


@pytest.mark.parametrize(("counted", "is_doubted"), [(10.0, False), (10.15, False), (10.4, True)])
def test_a_day_of_flow_that_its_total_denies_is_doubted_once_it_is_over(
    point, counted: float, is_doubted: bool
) -> None:
    mh, channels = point
    mh.put(day(10.0), channel=mh.flow, start=MIDNIGHT)
    mh.put(total(counted), channel=channels["volume"], worker="t", start=MIDNIGHT)
    settle(mh, now=MIDNIGHT + timedelta(days=1))
    assert doubted(mh, mh.flow, start=MIDNIGHT) == [], "the day has just ended: more may come"
    settle(mh)
    expected = [(0, 1439)] if is_doubted else []
    assert doubted(mh, mh.flow, start=MIDNIGHT) == expected
    assert doubted(mh, channels["volume"], start=MIDNIGHT) == []
    screen_readings(mh.engine)
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == expected, "screening again keeps it"


def test_a_total_that_comes_late_is_laid_beside_its_day_too(point) -> None:
    mh, channels = point
    flows = day(10.0)
    mh.put(
        {m: v if m < 700 else 20.0 + 0.1 * (m % 5) for m, v in flows.items()},
        channel=mh.flow,
        start=MIDNIGHT,
    )
    mh.put(
        {m: v for m, v in total(10.0).items() if m < 700},
        channel=channels["volume"],
        worker="t",
        start=MIDNIGHT,
    )
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == []
    late = {m: round(1000 + 7000 + 15.0 * (m - 700)) for m in range(700, 1440)}
    mh.put(late, channel=channels["volume"], worker="late", start=MIDNIGHT)
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == [(0, 1439)]


def test_a_doubt_goes_when_the_total_is_corrected(point) -> None:
    mh, channels = point
    mh.put(day(10.0), channel=mh.flow, start=MIDNIGHT)
    mh.put(total(10.4), channel=channels["volume"], worker="t", start=MIDNIGHT)
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == [(0, 1439)]
    fixed = [
        Correction(read_at=MIDNIGHT + timedelta(minutes=m), value=v, quality=Quality.GOOD)
        for m, v in total(10.0).items()
    ]
    correct(mh.engine, channels["volume"], fixed, reason="the scale was wrong", by="Ana Ruiz")
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == []


def closed(mh: Manhole, channel: int) -> None:
    """Destroy the readings of July of one channel, as under a line of its own."""
    assert destroyed(mh.engine, channel, month_of(AT.date()).window(CHICAGO))


def test_a_rinse_stays_doubted_when_its_temperature_was_destroyed(point) -> None:
    """And what comes late of pH is screened without it."""
    mh, channels = point
    late = {65: 8.21, 170: 7.2}
    mh.put({m: v for m, v in stepped(7.2, 8.2).items() if m not in late})
    mh.put(stepped(25.0, 12.0), channel=channels["temperature"], worker="t")
    settle(mh)
    assert doubted(mh, mh.ph) == [(60, 77)]
    before = mh.count("exceedance_history")
    closed(mh, channels["temperature"])
    mh.put(late, worker="late")
    settle(mh)
    assert doubted(mh, mh.ph) == [(60, 77)]
    assert mh.count("exceedance_history") == before


def test_a_day_stays_doubted_when_its_total_was_destroyed(point) -> None:
    mh, channels = point
    mh.put({m: v for m, v in day(10.0).items() if m != 700}, channel=mh.flow, start=MIDNIGHT)
    mh.put(total(10.4), channel=channels["volume"], worker="t", start=MIDNIGHT)
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == [(0, 1439)]
    closed(mh, channels["volume"])
    mh.put({700: 10.0}, channel=mh.flow, worker="late", start=MIDNIGHT)
    settle(mh)
    assert doubted(mh, mh.flow, start=MIDNIGHT) == [(0, 1439)]
