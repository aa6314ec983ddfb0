"""The pages of instruments: how each is, in words; windows and calibrations that people declare."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, insert, select, update

from compliance.model.gaps import Gap
from compliance.model.periods import to_us
from compliance.model.readings import Quality
from compliance.records import audit, gaps, windows
from compliance.records import tables as t

ZONE = ZoneInfo("America/Chicago")
REASON = "Electrode replaced after the rinse"


def words(text: str) -> str:
    """What a page says, without its marks."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def typed(at: datetime) -> str:
    return at.astimezone(ZONE).strftime("%Y-%m-%dT%H:%M")


def declare(client, town, **more: str):
    form = {"over": "instrument", "kind": "maintenance", "reason": REASON, **more}
    return client.post(f"/instruments/{town.instrument}/windows", data=form)


def shift(town, by: timedelta) -> None:
    """Make the newest reading so old."""
    with town.engine.begin() as db:
        db.execute(update(t.reading).values(read_at=t.reading.c.read_at - by))


def cadence(town, interval_ms: int) -> None:
    with town.engine.begin() as db:
        db.execute(update(t.channel_cadence).values(interval_ms=interval_ms))


def put(town, age: timedelta, *, channel: int = 1, **more: object) -> None:
    """One more reading, so long ago."""
    row = {"value": 7.2, "quality": 0, "offset_ms": 0, "batch_id": 2, **more}
    with town.engine.begin() as db:
        db.execute(insert(t.reading).values(channel_id=channel, read_at=town.at - age, **row))


def newest(town, *, seconds: float, interval_ms: int) -> None:
    """Every channel has one reading alone, so many seconds ago, of such an interval."""
    cadence(town, interval_ms)
    with town.engine.begin() as db:
        db.execute(delete(t.reading))
        at = datetime.now(UTC) - timedelta(seconds=seconds)
        for channel in db.scalars(select(t.channel.c.id)):
            row = {"value": 7.2, "quality": 0, "offset_ms": 0, "batch_id": 2}
            db.execute(insert(t.reading).values(channel_id=channel, read_at=at, **row))


@pytest.mark.parametrize(("interval_ms", "within", "after"), [(1000, 0, 4), (300_000, 880, 901)])
def test_silence_shows_after_three_cadences(as_person, town, interval_ms, within, after):
    client = as_person("ana")
    newest(town, seconds=within, interval_ms=interval_ms)
    assert "within three intervals" in words(client.get("/").text)
    where = f"/instruments/{town.instrument}"
    assert "● Reading" in words(client.get(where).text)
    newest(town, seconds=after, interval_ms=interval_ms)
    board = words(client.get("/").text)
    assert "within three intervals" not in board and "silent for" in board
    assert "◇ Silent" in words(client.get(where).text)
    assert "◇ Silent" in words(client.get("/instruments").text)
    assert client.get(f"/api/v1{where}").json()["state"] == "Silent"


def test_a_reading_dated_in_the_future_does_not_hide_silence(as_person, town):
    client = as_person("ana")
    newest(town, seconds=4, interval_ms=1000)
    for channel in (1, 2):
        put(town, timedelta(days=-26_000), channel=channel)
    assert "silent for" in words(client.get("/").text)
    assert "◇ Silent" in words(client.get(f"/instruments/{town.instrument}").text)
    health = words(client.get("/health").text)
    assert "Newest valid reading -" not in health and "ago" in health
    live = client.get(f"/api/v1/instruments/{town.instrument}").json()
    assert live["state"] == "Silent"


def test_the_list_says_state_age_clock_gaps_and_calibration(as_person, town):
    put(town, timedelta(0), channel=2, device_offset_ms=-90_000)
    said = words(as_person("ana").get("/instruments").text)
    assert "MH-1 · unit 1" in said and "Bright Dairy" in said
    assert "no answer in time: 60 readings" in said
    assert "▲ Never calibrated" in said
    assert "▲ 1 min 30 s behind ours" in said


def test_a_gap_has_its_cause_and_a_slot_without_one_says_so(as_person, town):
    channel, end = 1, town.at - timedelta(minutes=60)
    with town.engine.begin() as db:
        db.execute(
            delete(t.reading).where(
                t.reading.c.channel_id == channel,
                t.reading.c.read_at >= end - timedelta(minutes=10),
                t.reading.c.read_at < end,
            )
        )
        half = end - timedelta(minutes=5)
        gap = Gap(channels=(channel,), since_us=to_us(half), until_us=to_us(end), cause="power cut")
        gaps.add(db, gap, worker="w")
    found = as_person("ana").get(f"/api/v1/instruments/{town.instrument}").json()["channels"][0]
    assert "power cut" in [one["cause"] for one in found["gaps"]]
    assert found["complete"]["24h"]["due"] in (719, 720, 718)
    assert found["complete"]["24h"]["judged"] < 600


def test_an_instrument_shows_its_last_reading_with_registers_and_quality(as_person, town):
    with town.engine.begin() as db:
        db.execute(
            update(t.reading)
            .where(t.reading.c.channel_id == 1, t.reading.c.read_at == town.at)
            .values(quality=int(Quality.STALE))
        )
    said = words(as_person("ana").get(f"/instruments/{town.instrument}").text)
    assert "the instrument repeats an old value; registers 0x40A6 0x6666" in said
    assert "▲ Not reliable" in said


def test_why_nothing_comes_is_the_workers_word(as_person, town):
    shift(town, timedelta(hours=3))
    client = as_person("ana")
    where = f"/instruments/{town.instrument}"
    assert "no worker polls its gateway" in words(client.get(where).text)
    with town.engine.begin() as db:
        gateway = db.scalar(select(t.gateway.c.id))
        db.execute(insert(t.lease).values(gateway_id=gateway, worker="w7"))
    assert "its worker w7 does not run" in words(client.get(where).text)
    states = {"gw-1": {"gateway": "127.0.0.1:15020 does not answer", "unit 2": "busy"}}
    detail = {"states": states, "thrown_away": {"gw-1": {"late": 3}}}
    with town.engine.begin() as db:
        db.execute(insert(t.heartbeat).values(process="ingest w7", detail=detail))
    said = words(client.get(where).text)
    assert "127.0.0.1:15020 does not answer" in said and "busy" not in said
    assert "thrown away since it started: 3 late" in said


def test_an_industrial_user_is_told_nothing_of_the_citys_network(as_person, town):
    shift(town, timedelta(hours=3))
    client = as_person("jo")
    said = words(client.get(f"/instruments/{town.instrument}").text)
    assert "◇ Silent" in said
    assert "127.0.0.1" not in said and "worker" not in said
    assert "Register maps in use" not in words(client.get("/instruments").text)


def test_a_clock_shows_its_zone_its_drift_and_when_it_was_set(as_person, town):
    begin = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=40)
    rows = [
        {
            "channel_id": 2, "read_at": begin + timedelta(hours=n, minutes=1), "value": 20.0,
            "quality": 0, "offset_ms": 0, "batch_id": 3,
            "device_offset_ms": -21_600_000 + (90_000 if n >= 10 else 0) + 100 * n,
        }
        for n in range(36)
    ]  # fmt: skip
    with town.engine.begin() as db:
        db.execute(insert(t.reading), rows)
        db.execute(
            update(t.reading)
            .where(t.reading.c.channel_id == 2, t.reading.c.read_at > begin + timedelta(hours=37))
            .values(device_offset_ms=-21_600_000 + 93_900)
        )
    client = as_person("ana")
    found = client.get(f"/api/v1/instruments/{town.instrument}").json()["clock_record"]
    assert found["says"].startswith("keeps UTC") or "behind" in found["says"]
    assert [one["by_ms"] for one in found["moves"]] == [90_100]
    assert "▲ Moved" in words(client.get(f"/instruments/{town.instrument}").text)


def test_a_window_is_declared_shown_everywhere_and_in_the_audit(as_person, town):
    client = as_person("olga")
    began = town.at - timedelta(hours=3, minutes=10)
    answer = declare(client, town, since=typed(began))
    assert answer.status_code == 303, words(answer.text)
    said = words(client.get(answer.headers["location"]).text)
    assert "In maintenance" in said and REASON in said
    assert re.search(
        r"Declared afterwards, 3 h 1\d min after it began, by Olga Berg, Operator", said
    )
    board = words(client.get("/").text)
    assert "In declared windows 2" in board
    assert "in maintenance since" in board and "declared by Olga Berg, Operator" in board
    live = client.get("/live").text
    assert live.count("data-window=") == 2
    where = f"/instruments/{town.instrument}"
    assert "◇ In maintenance" in words(client.get(where).text)
    chart = client.get(f"/api/v1/points/{town.point}/readings?parameter=ph").json()
    assert [one["kind"] for one in chart["windows"]] == ["maintenance"]
    assert chart["judged"] == 0 and "720 of them in declared windows" in chart["says"]
    with town.engine.connect() as db:
        entry = list(audit.entries(db))[-1]
    assert (entry.by, entry.act) == ("Olga Berg, Operator", "declare window")


def test_silence_in_a_window_is_none_and_counts_again_after_it(as_person, town):
    shift(town, timedelta(hours=2))
    client = as_person("ana")
    declare(client, town, since=typed(town.at - timedelta(hours=2)))
    said = words(client.get("/").text)
    assert "Silent instruments 2" in said  # the other user's
    number = max(_numbers(town))
    ended = typed(datetime.now(UTC) - timedelta(minutes=1))
    answer = client.post(
        f"/instruments/{town.instrument}/windows/{number}/end", data={"until": ended}
    )
    assert answer.status_code == 303, words(answer.text)
    assert "Silent instruments 4" in words(client.get("/").text)


def _numbers(town) -> list[int]:
    with town.engine.connect() as db:
        return list(db.scalars(select(t.declared_window.c.number)))


def test_a_window_is_withdrawn_and_stays_on_record(as_person, town):
    client = as_person("ana")
    where = f"/instruments/{town.instrument}/windows"
    answer = client.post(f"{where}/{town.window}/withdraw", data={"reason": "The wrong manhole"})
    assert answer.status_code == 303
    said = words(client.get(where).text)
    assert "● Withdrawn" in said and "The wrong manhole" in said


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"reason": "short"}, "reason", "Write at least 8 characters"),
        ({"since": "yesterday"}, "since", "Found 'yesterday', expected a date and a time"),
        ({"until": "2020-01-01T00:00"}, "until", "It ends before it begins"),
        ({"since": "2026-03-08T02:30"}, "since", "does not exist at the plant"),
        ({"since": "2026-11-01T01:30"}, "since", "comes twice at the plant"),
        ({"kind": "holiday"}, "kind", "Choose what was done"),
        ({"over": "3"}, "over", "Choose the instrument"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_written(
    as_person, town, given, field, said
):
    form = {"since": typed(town.at), **given}
    answer = declare(as_person("ana"), town, **form)
    assert answer.status_code == 422
    assert said in words(answer.text)
    assert f'id="{field}-wrong"' in answer.text and f'href="#{field}"' in answer.text
    assert len(set(_numbers(town))) == 2


def test_of_an_hour_that_comes_twice_the_second_can_be_meant(as_person, town):
    form = {"since": "2026-11-01T01:30", "since_fold": "second", "until": "2026-11-01T03:00"}
    assert declare(as_person("ana"), town, **form).status_code == 303
    with town.engine.connect() as db:
        at = datetime(2026, 11, 1, 8, tzinfo=UTC)
        (window,) = windows.of(db, [1], since=at, until=at + timedelta(minutes=1))
    assert window.since == datetime(2026, 11, 1, 7, 30, tzinfo=UTC)


def calibrate(client, town, **more):
    form = {
        "channel": "1", "when": typed(town.at - timedelta(days=2)), "by": "Lee Kim",
        "standard": ["7.00", "4.01", ""], "before": ["7.04", "3.95", ""], "after": ["", "4.01", ""],
        **more,
    }  # fmt: skip
    return client.post(f"/instruments/{town.instrument}/calibrations", data=form)


def test_a_calibration_is_recorded_and_the_next_is_told(as_person, town):
    client = as_person("ana")
    answer = calibrate(client, town)
    assert answer.status_code == 303, words(answer.text)
    said = words(client.get(answer.headers["location"]).text)
    assert "Lee Kim" in said and "7.00: 7.04, 7.04" in said and "0.06" in said
    day = (town.at.astimezone(ZONE) + timedelta(days=28)).strftime("%-d %b %Y")
    assert f"● Next by {day}" in words(client.get("/instruments").text)
    found = client.get(f"/api/v1/instruments/{town.instrument}").json()["channels"][0]
    assert found["calibrations"][0]["drift"] == "0.06"


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"channel": "3"}, "channel", "Choose the channel"),
        ({"when": "2199-01-01T00:00"}, "when", "That has not come yet"),
        ({"by": " "}, "by", "Write who calibrated it"),
        ({"before": ["seven", "", ""]}, "line-1", "Line 1, before: found 'seven'"),
        ({"standard": [""], "before": [""], "after": [""]}, "line-1", "at least one standard"),
    ],
)
def test_a_calibration_sheet_that_cannot_be_read_is_shown_again(
    as_person, town, given, field, said
):
    answer = calibrate(as_person("ana"), town, **given)
    assert answer.status_code == 422
    assert said in words(answer.text) and f'href="#{field}"' in answer.text
    with town.engine.connect() as db:
        assert db.execute(select(t.calibration)).first() is None


def test_a_citys_health_tells_nothing_of_another_city(as_person, town):
    with town.engine.begin() as db:
        city = db.execute(
            insert(t.city).values(
                slug="monona", name="Monona", zone="America/Chicago", rulebooks=["monona"],
                control_authority="MMSD", ordinance_authority="City", billing_authority="City",
            )
        ).inserted_primary_key[0]  # fmt: skip
        db.execute(
            insert(t.industrial_user).values(
                city_id=city, slug="brew", name="Lake Brewery", makes="beer",
                is_significant=True, category="C", water_meter='2"',
            )
        )  # fmt: skip
        for what in ("MH-1 ph cannot be judged", "Lake Brewery cannot be billed", "out of memory"):
            db.execute(insert(t.fault).values(process="work", what=what))
    said = words(as_person("ana").get("/health").text)
    assert "MH-1 ph cannot be judged" in said
    assert "Lake Brewery" not in said and "out of memory" not in said
    assert "2 faults of the installation or of other cities" in said
    with town.engine.begin() as db:
        db.execute(update(t.person).where(t.person.c.login == "adam").values(city_id=None))
    said = words(as_person("adam").get("/health").text)
    assert "Lake Brewery" in said and "out of memory" in said


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"by": "x" * 201}, "by", "in up to 200 letters"),
        ({"when": "1969-05-05T08:00"}, "when", "1969"),
        ({"standard": ["700", "", ""]}, "line-1", "expected 0 to 14 for ph"),
        ({"before": ["99.9", "3.95", ""]}, "line-1", "Found before 99.9"),
        ({"standard": ["7.00", "7.0", ""]}, "line-1", "stands there twice"),
    ],
)
def test_a_calibration_that_cannot_have_been_is_refused(as_person, town, given, field, said):
    test_a_calibration_sheet_that_cannot_be_read_is_shown_again(as_person, town, given, field, said)


def test_a_double_click_records_and_declares_once(as_person, town):
    client = as_person("ana")
    for _ in range(2):
        assert calibrate(client, town).status_code == 303
        assert declare(client, town, since=typed(town.at)).status_code == 303
    with town.engine.connect() as db:
        assert len(db.execute(select(t.calibration)).all()) == 1
        acts = [one.act for one in audit.entries(db)]
    assert acts == ["record calibration", "declare window"]


def test_a_window_that_lies_on_another_says_so_and_both_are_kept(as_person, town):
    client = as_person("ana")
    for reason in ("The first of two", "The second of two"):
        answer = declare(client, town, since=typed(town.at), reason=reason)
    said = words(client.get(answer.headers["location"]).text)
    assert said.count("It lies on window") == 2
    assert "The first of two" in said and "The second of two" in said


@pytest.mark.parametrize("field", ["since", "until"])
def test_a_window_over_a_year_long_or_ahead_is_refused(as_person, town, field):
    far = {"since": typed(town.at), field: typed(town.at + timedelta(days=368))}
    answer = declare(as_person("ana"), town, **far)
    assert answer.status_code == 422 and f'id="{field}-wrong"' in answer.text
    assert "366 days" in words(answer.text)
