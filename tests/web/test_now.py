"""What pages say of now: what runs and what has ended, what gives no sign of life, whose day."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update

from compliance.records import tables as t

REASON = "The acid tank overflowed; the operator confirmed it by telephone."


def _unsettled(town, *, open_ended: bool) -> None:
    with town.engine.begin() as db:
        db.execute(update(t.exceedance).values(settled=False, open_ended=open_ended))


@pytest.mark.parametrize("login", ["ana", "jo"])
def test_what_has_ended_is_not_said_to_go_on_while_another_may_still_join_it(
    as_person, town, login
):
    _unsettled(town, open_ended=False)
    opened = as_person("ana").post(
        f"/detections/{town.detection}", data={"decision": "open", "reason": REASON}
    )
    with town.engine.begin() as db:
        db.execute(update(t.detection).values(state="detected"))
    client = as_person(login)
    where = ("/", "/detections", f"/detections/{town.detection}", f"/points/{town.point}")
    for page in (*where, opened.headers["location"]):
        text = client.get(page).text
        assert "still going on" not in text and "so far" not in text, page
    for page in (*where[:3], opened.headers["location"]):
        text = client.get(page).text
        assert re.search(
            r"ended \d\d:\d\d:\d\d; within the limit since, may still join a new one until "
            r"\d\d:\d\d:\d\d",
            text,
        ), page


def test_what_runs_is_still_going_on(as_person, town):
    _unsettled(town, open_ended=True)
    client = as_person("jo")
    for page in ("/", f"/detections/{town.detection}"):
        text = client.get(page).text
        assert "still going on" in text and "pH below 6.0 for 5 min so far" in text


def test_a_length_is_said_once(as_person, town):
    client = as_person("ana")
    for seconds, said in ((38, "<dd>38 s</dd>"), (300, "<dd>5 min (300 s)</dd>")):
        with town.engine.begin() as db:
            db.execute(update(t.exceedance).values(seconds=seconds))
        assert said in client.get(f"/detections/{town.detection}").text


def test_a_display_was_read_on_the_day_of_the_plant(as_person, town):
    at = datetime(2026, 6, 2, 3, tzinfo=UTC)  # still the first of June in Wisconsin
    with town.engine.begin() as db:
        db.execute(update(t.instrument).values(confirmed_by="Ana Ruiz", confirmed_at=at))
    client = as_person("ana")
    for page in (f"/instruments/{town.instrument}", f"/detections/{town.detection}"):
        text = client.get(page).text
        assert "1 Jun 2026" in text and "2 Jun 2026" not in text


def test_a_process_that_is_quiet_for_half_a_minute_gives_no_sign_of_life(as_person, town):
    with town.engine.begin() as db:
        for process, age in (("work", 2), ("ingest demo", 31)):
            at = datetime.now(UTC) - timedelta(seconds=age)
            db.execute(insert(t.heartbeat).values(process=process, at=at, detail={}))
    text = as_person("ana").get("/health").text
    assert re.search(r"</span> No sign of life for 3[1-4] s</span> ingest demo", text)
    assert "Something needs a look" in text
    assert re.search(r"</span> Alive</span> work", text)


@pytest.mark.parametrize(
    ("beat", "heading"), [(2, "A gateway is silent as a whole"), (60, "Ingest is not running")]
)
def test_a_gateway_whose_channels_are_all_silent_stands_on_top_of_the_board(
    as_person, town, beat, heading
):
    client = as_person("ana")
    with town.engine.begin() as db:
        at = datetime.now(UTC) - timedelta(seconds=beat)
        db.execute(insert(t.heartbeat).values(process="ingest demo", at=at, detail={}))
    assert "gw-1" not in client.get("/").text
    with town.engine.begin() as db:
        db.execute(update(t.reading).values(read_at=t.reading.c.read_at - timedelta(hours=3)))
    text = client.get("/").text
    assert heading in text and "all 4 channels are silent (MH-1, MH-2)" in text
    assert text.index(heading) < text.index("To decide")


def test_no_unit_stands_where_there_is_no_value(as_person, town):
    client = as_person("ana")
    for page in ("/", "/live"):
        text = client.get(page).text
        shown = re.findall(r"<b data-shown>([^<]*)</b>\s*<span[^>]*data-unit( hidden)?>", text)
        assert {(value == "◇", bool(hidden)) for value, hidden in shown} == {
            (True, True),
            (False, False),
        }
