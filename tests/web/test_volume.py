"""The page of a point's volume: totalizer beside flow, the meter's exchange, the composites."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from sqlalchemy import insert, select

from compliance.jobs.composites import compose
from compliance.jobs.evaluate import evaluate
from compliance.model.periods import day_of, local_day, to_us
from compliance.records import audit
from compliance.records import tables as t
from ingest import backfill
from tests.support.keeping import destroyed

ZONE = ZoneInfo("America/Chicago")
MINUTE = timedelta(minutes=1)


class Metered:
    """MH-1 with a total, a flow rate and a sampler: 10 gpm through the whole of yesterday."""

    def __init__(self, town) -> None:
        self.town = town
        self.day = day_of(town.at, ZONE) - timedelta(days=1)
        self.window = local_day(self.day, ZONE)
        self.minutes = int(self.window.length / MINUTE)
        with town.engine.begin() as db:
            self.point = db.scalar(
                select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == town.point)
            )
            self.total = self._channel(db, "total", "volume", "gal", modulus="100000")
            self.flow = self._channel(db, "rate", "flow", "gpm")
            self.pulls = self._channel(db, "pulls", "count", "count")
            db.execute(
                insert(t.sampler).values(
                    monitoring_point_id=self.point,
                    effective=self.day - timedelta(days=9),
                    aliquots_channel_id=self.pulls,
                    total_channel_id=self.total,
                    composite="day",
                    gallons_per_aliquot=600,
                    moves_when_full=True,
                    tolerance="0.10",
                )
            )
        self.put(self.flow, {n: 10.0 for n in range(self.minutes)})

    def _channel(self, db, entry, parameter, unit, *, modulus=None):
        made = db.execute(
            insert(t.channel)
            .values(
                monitoring_point_id=self.point, instrument_id=None, entry=entry,
                parameter=parameter, unit=unit, resolution="1", modulus=modulus,
            )
            .returning(t.channel.c.id)
        ).scalar_one()  # fmt: skip
        since = datetime(2026, 1, 1, tzinfo=UTC)
        db.execute(
            insert(t.channel_cadence).values(channel_id=made, since=since, interval_ms=60_000)
        )
        db.execute(insert(t.counting).values(channel_id=made, since=since, by="Ana", how="display"))
        return made

    def put(self, channel, values) -> None:
        at_us = np.array([to_us(self.window.start + n * MINUTE) for n in values], np.int64)
        value = np.array(list(values.values()), np.float64)
        history = backfill.History(at_us=at_us, value=value, quality=np.zeros(len(value), np.int64))
        backfill.store(self.town.engine, worker="w", series={channel: history})

    def count(self, shows) -> None:
        """The total minute by minute; shows: what it shows at a minute of the day."""
        self.put(self.total, {n: float(shows(n)) for n in range(self.minutes + 1)})

    def query(self) -> str:
        return f"from={self.day}&to={self.day}"

    def volume(self, client) -> dict:
        answer = client.get(f"/api/v1/points/{self.town.point}/volume?{self.query()}")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def metered(town) -> Metered:
    return Metered(town)


def test_a_day_has_its_volume_with_the_flow_integral_beside_it(as_person, metered):
    metered.count(lambda n: (99_000 + 11 * n) % 100_000)
    client = as_person("ana")
    found = metered.volume(client)
    (day,) = found["days"]
    assert day["gallons"] == f"{11 * metered.minutes}.00"
    assert day["flow_integral_gallons"] == f"{10 * metered.minutes}.00"
    assert (day["flow_completeness"], day["covered"]) == ("1.0000", "1.0000")
    assert day["disagreement"]["share"] == "-0.0909"
    assert day["disagreement"]["gallons"] == f"-{metered.minutes}.00"
    assert [one["kind"] for one in day["events"]] == ["rollover"]
    page = client.get(f"/points/{metered.town.point}/volume?{metered.query()}").text
    assert f"{11 * metered.minutes:,} gal" in page
    assert "-9.1 %" in page
    assert "rollover" in page
    assert page.count('class="of-total"') == metered.minutes // 60


def test_a_step_beyond_the_pipe_is_suspect_and_the_flow_stands_in(as_person, metered):
    with metered.town.engine.begin() as db:
        db.execute(
            t.channel.update().where(t.channel.c.id == metered.total).values(max_per_second="1")
        )
    metered.count(lambda n: 10 * n + (50_000 if n > 600 else 0))
    (day,) = metered.volume(as_person("ana"))["days"]
    assert [one["kind"] for one in day["events"]] == ["suspect"]
    assert day["needs_review"] is True
    assert day["gallons"] == f"{10 * metered.minutes}.00"
    assert day["estimated_gallons"] == "10.00"


def test_days_without_a_reading_are_no_record_and_not_zero(as_person, metered):
    client = as_person("ana")
    for on in (metered.day - timedelta(days=5), metered.day + timedelta(days=40)):
        path = f"/points/{metered.town.point}/volume?from={on}&to={on}"
        assert all(day["gallons"] is None for day in client.get(f"/api/v1{path}").json()["days"])
        page = client.get(path).text
        assert "Nothing was read" in page or "still to come" in page


def test_days_whose_readings_were_destroyed_are_not_called_a_fault(as_person, metered):
    client = as_person("ana")
    path = f"/points/{metered.town.point}/volume?{metered.query()}"
    assert "Destroyed" not in client.get(path).text
    assert destroyed(metered.town.engine, metered.flow, metered.window) == metered.minutes
    page = client.get(path).text
    assert f"{metered.minutes:,} readings of " in page and "under line WW-1" in page
    assert "were destroyed; their sums stay" in page
    assert "That is a fault" not in page


def test_a_span_too_long_or_backward_is_refused_in_a_sentence(as_person, metered):
    client = as_person("ana")
    for query in ("from=2026-01-01&to=2026-02-01", "from=2026-02-01&to=2026-01-01"):
        answer = client.get(f"/points/{metered.town.point}/volume?{query}")
        assert answer.status_code == 422
        assert "one civil day up to 31" in answer.text


def exchange(client, metered, **changed):
    form = {
        "at": f"{metered.day}T10:00:30",
        "entry": "total",
        "final": "6005",
        "initial": "12",
        "reason": "Register worn out; new one by Lee Kim",
        **changed,
    }
    return client.post(f"/points/{metered.town.point}/meter", data=form, follow_redirects=False)


def swapped(metered, *, initial=12):
    """The meter is exchanged at 10:00:30 on its own clock of minutes; no day of it is odd."""
    start = int((datetime.combine(metered.day, datetime.min.time(), ZONE).replace(hour=10)
                 .astimezone(UTC) - metered.window.start) / MINUTE)  # fmt: skip
    metered.count(lambda n: 10 * n if n <= start else initial + 10 * (n - start))
    return 10 * start


def test_a_meter_exchanged_is_noted_counts_and_stands_in_the_audit_log(as_person, metered):
    last = swapped(metered)
    client = as_person("ana")
    before = metered.volume(client)["days"][0]
    assert before["needs_review"] is True
    answer = exchange(client, metered, final=str(last + 5))
    assert answer.status_code == 303, answer.text
    found = metered.volume(client)
    (day,) = found["days"]
    assert [one["kind"] for one in day["events"]] == ["replaced"]
    assert day["gallons"] == f"{10 * metered.minutes + 5}.00"
    assert found["meter_events"][0]["by"] == "Ana Ruiz"
    page = client.get(answer.headers["location"]).text
    assert "Noted by Ana Ruiz" in page
    with metered.town.engine.connect() as db:
        entries = list(audit.entries(db))
        note = db.scalar(select(t.meter_event.c.id))
    assert [(one.by, one.act, one.subject) for one in entries] == [
        ("Ana Ruiz", "note a meter exchanged", "MH-1 total")
    ]
    path = f"/points/{metered.town.point}/meter/{note}/withdraw"
    assert client.post(path, data={"entry": "total"}, follow_redirects=False).status_code == 303
    assert metered.volume(client)["days"][0]["needs_review"] is True
    assert client.post(path, data={"entry": "total"}).status_code == 404


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"final": "5"}, "does not continue the count"),
        ({"final": "a lot"}, "the last read of the old meter is &#39;a lot&#39;"),
        ({"initial": "100000"}, "where this total goes on from zero"),
        ({"reason": "new"}, "the reason is too short"),
        ({"at": "2198-01-01T00:00:00"}, "lies in the future"),
        ({"at": ""}, "there is no instant"),
    ],
)
def test_a_note_that_cannot_be_is_refused_beside_what_was_typed(as_person, metered, changed, said):
    last = swapped(metered)
    answer = exchange(as_person("ana"), metered, **{"final": str(last + 5), **changed})
    assert answer.status_code == 422
    assert said in answer.text
    with metered.town.engine.connect() as db:
        assert db.scalar(select(t.meter_event.c.id)) is None


@pytest.mark.parametrize("login", ["olga", "cleo", "jo"])
def test_only_those_who_decide_note_an_exchange(as_person, metered, login):
    assert exchange(as_person(login), metered).status_code == 403


def test_an_exchange_in_the_past_computes_its_composite_anew(as_person, metered):
    with metered.town.engine.begin() as db:
        db.execute(
            t.channel.update().where(t.channel.c.id == metered.total).values(max_per_second="1")
        )
    last = swapped(metered, initial=2000)
    metered.put(metered.pulls, {n: float(n // 60) for n in range(metered.minutes + 30)})
    run(metered)
    client = as_person("ana")
    before = metered.volume(client)["composites"][0]
    assert before["gallons"] != f"{10 * metered.minutes + 5}.0"
    assert before["faults"][0].startswith("the total fell, neither to zero nor over the modulus")
    page = client.get(f"/points/{metered.town.point}/volume?{metered.query()}").text
    assert "Flagged" in page
    assert "no law gives it" in page
    exchange(client, metered, final=str(last + 5), initial="2000")
    run(metered)
    after = metered.volume(client)["composites"][0]
    assert after["gallons"] == f"{10 * metered.minutes + 5}.0"
    assert after["faults"] == []


def run(metered) -> None:
    now = metered.town.at + timedelta(days=1)
    while evaluate(metered.town.engine, now=now, release="test").readings:
        pass
    compose(metered.town.engine, now=now, release="test")


def test_a_detection_from_a_composite_shows_that_its_sampler_was_jammed(as_person, metered):
    """Before anybody decides."""
    metered.count(lambda n: 10 * n)
    metered.put(metered.pulls, {n: float(min(n, 300) // 60) for n in range(metered.minutes + 30)})
    run(metered)
    with metered.town.engine.begin() as db:
        sample = db.execute(
            insert(t.sample)
            .values(
                monitoring_point_id=metered.point, label="C-1", sample_type="composite",
                taken_by="city", sampled_from=metered.window.start, sampled_to=metered.window.end,
                day=metered.day,
            )
            .returning(t.sample.c.id)
        ).scalar_one()  # fmt: skip
        result = db.execute(
            insert(t.result)
            .values(
                sample_id=sample, parameter="zinc", qualifier="", value=9, written="9", unit="mg/L"
            )
            .returning(t.result.c.id)
        ).scalar_one()
        detection = t.detection.c.id == metered.town.detection
        fact = db.scalar(select(t.detection.c.exceedance_id).where(detection))
        of_result = {"channel_id": None, "result_id": result}
        db.execute(t.exceedance.update().where(t.exceedance.c.id == fact).values(of_result))
    page = as_person("ana").get(f"/detections/{metered.town.detection}").text
    assert "composite of" in page
    assert "is flagged" in page
    assert "5 aliquots for 24 due by the water that passed" in page
