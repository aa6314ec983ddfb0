"""Pages on which an instrument is commissioned: who may, what is refused, what is said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from compliance.records import audit, counting, setting_up
from compliance.records import tables as t
from compliance.records.scope import Scope
from tests.support.commission import (
    MAP,
    ORDERS,
    answered,
    channels,
    compared,
    counts,
    papers,
    unconfirmed,
)


@pytest.mark.parametrize("login", ["jo", "ana", "dan", "cleo", "olga"])
def test_only_an_administrator_sets_instruments_up(as_person, town, page, login):
    client = as_person(login)
    for path in ("/instruments/new", page):
        assert client.get(path).status_code == 403
    for path in ("/instruments/new", f"{page}/confirm", f"{page}/map", f"{page}/compare"):
        assert client.post(path, data={"map": MAP}).status_code == 403
    asked = client.post("/api/v1/field-questions", json={"instrument": town.instrument})
    assert asked.status_code == 403


def test_a_wrong_field_is_told_beside_it_and_what_was_typed_stays(as_person, town):
    client = as_person("adam")
    typed = {"name": "mh-9", "host": "10.0.0.9", "port": "99999", "transport": "tcp"}
    answer = client.post("/instruments/new", data=typed)
    assert answer.status_code == 422
    assert 'id="port-wrong"' in answer.text
    assert "port is &#39;99999&#39;; expected a number from 0 to 65535" in answer.text
    assert 'value="10.0.0.9"' in answer.text
    again = client.post("/instruments/new", data=typed | {"port": "502", "transport": "udp"})
    assert "expected one of tcp" in again.text
    there = client.post("/instruments/new", data=typed | {"port": "15020", "host": "127.0.0.1"})
    assert "is here already" in there.text


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"entry": "serial"}, "entry", "choose a number of eh-liquiline-cm44x"),
        ({"entry": "nothing"}, "entry", "choose a number of"),
        ({"parameter": "sorrow"}, "parameter", "sorrow"),
        ({"channel_unit": "gpm"}, "channel_unit", "ph needs a unit of"),
        ({"resolution": "0"}, "resolution", "expected a number over 0"),
        ({"resolution": "20"}, "resolution", "0.1 or less for pH"),
        ({"resolution": "NaN"}, "resolution", "expected a number"),
        ({"interval_s": "0.01"}, "interval_s", "expected 0.1 to 86400 s"),
        ({"entry": "level", "parameter": "level", "channel_unit": "m"}, "span_low", "expected"),
    ],
)
def test_a_channel_that_cannot_be_meant_is_refused_beside_its_field(
    as_person, town, page, change, field, says
):
    typed = {
        "entry": "ph", "parameter": "ph", "channel_unit": "s.u.", "resolution": "0.01",
        "interval_s": "10",
    }  # fmt: skip
    answer = as_person("adam").post(f"{page}/channels", data=typed | change)
    assert answer.status_code == 422
    assert f'id="{field}-wrong"' in answer.text
    assert says in answer.text


def test_it_counts_from_the_confirmation_and_the_log_knows_who_did_it(as_person, town, page):
    unconfirmed(town)
    client = as_person("adam")
    assert "Not commissioned" in client.get(page).text
    assert "CDAB agrees" in compared(client, town, page).text
    before = datetime.now(UTC)
    assert client.post(f"{page}/confirm", data=papers(town)).status_code == 303
    assert counts(town) == set(channels(town).values())
    with town.engine.connect() as db:
        spans = counting.records(db, counts(town))
        assert all(one[0].since >= before and one[0].by == "Adam Root" for one in spans.values())
        found = setting_up.find(db, Scope(city_id=None, industrial_user_id=None), town.instrument)
        acts = [one.act for one in audit.entries(db) if one.by == "Adam Root"]
    assert found.instrument.order == "CDAB"
    assert found.how == "compared with the display in order CDAB: ph 7.02, temperature 21.3"
    assert acts[-2:] == ["compare with the display", "confirm an instrument"]


@pytest.mark.parametrize(
    ("ph", "temperature", "says"),
    [
        ("7.31", "21.3", "the display shows 7.31"),
        ("7.02", "2.13", "times 0.1 it would agree: correct the scale in the map"),
        ("", "21.3", "ph: type what the display shows; its map has not settled it"),
    ],
)
def test_what_does_not_agree_is_not_confirmed(as_person, town, page, ph, temperature, says):
    unconfirmed(town)
    client = as_person("adam")
    assert says in compared(client, town, page, ph=ph, temperature=temperature).text
    refused = client.post(f"{page}/confirm", data=papers(town))
    assert refused.status_code == 422 and "Not confirmed" in refused.text
    assert counts(town) == set()


def test_a_display_at_nought_proves_no_order(as_person, town, page):
    unconfirmed(town)
    client = as_person("adam")
    number = answered(client, town, ph=dict.fromkeys(ORDERS, "0"))
    shown = {f"display_{channels(town)['ph']}": "0.00"}
    client.post(f"{page}/compare", data={"question": number, **shown})
    assert "proves no order" in client.get(page).text
    assert client.post(f"{page}/confirm", data=papers(town)).status_code == 422


@pytest.mark.parametrize(
    ("shown", "values", "quality"),
    [
        ("0", {"ABCD": "-2E+28", "CDAB": "7.02", "BADC": "-2.5E-20", "DCBA": None}, "good"),
        ("7.02", {"ABCD": "7.02", "CDAB": None, "BADC": None, "DCBA": None}, "suspect"),
        ("14.5", {"ABCD": "14.5", "CDAB": None, "BADC": None, "DCBA": None}, "good"),
        ("0.0", {"ABCD": "1E+9", "CDAB": "2.5E-20", "BADC": None, "DCBA": None}, "good"),
    ],
)
def test_only_a_usable_value_proves_an_order(as_person, town, page, shown, values, quality):
    unconfirmed(town)
    client, before = as_person("adam"), order(town)
    number = answered(client, town, ph=values, quality=quality)
    typed = {f"display_{channels(town)['ph']}": shown}
    client.post(f"{page}/compare", data={"question": number, **typed})
    assert "Not possible yet" in client.get(page).text
    assert client.post(f"{page}/confirm", data=papers(town)).status_code == 422
    assert counts(town) == set() and order(town) == before


def order(town) -> str | None:
    with town.engine.connect() as db:
        return setting_up.reads(db, town.instrument).order


def test_a_comparison_changes_nothing_of_a_confirmed_instrument_until_it_is_confirmed(
    as_person, town, page
):
    unconfirmed(town)
    client = as_person("adam")
    compared(client, town, page)
    client.post(f"{page}/confirm", data=papers(town))
    every = counts(town)
    mistyped = {f"display_{channels(town)['ph']}": "8.20"}
    others = dict.fromkeys(ORDERS) | {"DCBA": "8.20"}
    number = answered(client, town, ph=others)
    assert client.post(f"{page}/compare", data={"question": number, **mistyped}).status_code == 303
    assert counts(town) == every != set() and order(town) == "CDAB"
    assert client.post(f"{page}/confirm", data=papers(town)).status_code == 303
    assert counts(town) == every and order(town) == "DCBA"
    with town.engine.connect() as db:
        spans = counting.records(db, every)
    assert all(len(mine) == 2 and mine[0].until == mine[1].since for mine in spans.values())
    assert all("now read in order DCBA" in mine[0].ended_why for mine in spans.values())


def approvals(town) -> int:
    with town.engine.connect() as db:
        return len(db.execute(select(t.commissioning)).all())


def test_a_second_confirmation_without_a_new_comparison_is_told_of_the_first(as_person, town, page):
    unconfirmed(town)
    before = approvals(town)
    client = as_person("adam")
    compared(client, town, page)
    with ThreadPoolExecutor() as both:
        sent = [
            both.submit(client.post, f"{page}/confirm", data=papers(town) | {"document": name})
            for name in ("letter 7", "letter 8")
        ]
    assert sorted(one.result().status_code for one in sent) == [303, 422]
    again = client.post(f"{page}/confirm", data=papers(town))
    assert again.status_code == 422
    assert "Confirmed already by Adam Root at " in again.text
    assert approvals(town) == before + len(channels(town))
    with town.engine.connect() as db:
        (logged,) = [one for one in audit.entries(db) if one.act == "confirm an instrument"]
    assert logged.detail["approval"]["ph"]["approved_by"] == "Dan Moe, Director"
    assert logged.detail["approval"]["ph"]["approved_on"] == "2026-03-01"


def test_a_comparison_of_long_ago_confirms_nothing(as_person, town, page):
    unconfirmed(town)
    client = as_person("adam")
    compared(client, town, page)
    with town.engine.begin() as db:
        ago = datetime.now(UTC) - timedelta(minutes=16)
        db.execute(t.comparison.update().values(compared_at=ago))
    answer = client.post(f"{page}/confirm", data=papers(town))
    assert answer.status_code == 422 and "over 15 minutes old; read it again" in answer.text
    assert counts(town) == set()


@pytest.mark.parametrize("day", ["1969-12-31", "2999-01-01", "31 March"])
def test_an_approval_is_of_a_day_that_has_been(as_person, town, page, day):
    unconfirmed(town)
    client = as_person("adam")
    compared(client, town, page)
    answer = client.post(f"{page}/confirm", data=papers(town) | {"approved_on": day})
    assert answer.status_code == 422 and 'id="approved_on-wrong"' in answer.text
    assert counts(town) == set()


def test_one_channel_that_counts_no_more_is_named_with_its_reason(as_person, town, page):
    client = as_person("adam")
    typed = {"entry": "temperature", "parameter": "temperature", "channel_unit": "degC"}
    client.post(f"{page}/channels", data=typed | {"resolution": "0.5", "interval_s": "10"})
    why = "step: 0.01, now 0.5"
    text = client.get(page).text
    assert "Partly commissioned" in text and "ph: counts" in text and why in text
    assert "Not commissioned</" not in text.partition("<section")[0]
    text = client.get(f"/instruments/{town.instrument}").text
    assert "No more" in text and why in text
    assert "temperature: does not count" in client.get("/instruments/new").text


def test_saving_a_channel_as_it_is_leaves_nothing_in_the_log(as_person, town, page):
    client = as_person("adam")
    with town.engine.connect() as db:
        of = setting_up.find(db, Scope(city_id=None, industrial_user_id=None), town.instrument)
        before = [one.id for one in audit.entries(db)]
    ph = next(one for one in of.channels if one.entry == "ph")
    typed = {"entry": "ph", "parameter": "ph", "channel_unit": "s.u.", "resolution": "0.01"}
    typed["interval_s"] = str(ph.interval_ms / 1000)
    assert client.post(f"{page}/channels", data=typed).status_code == 303
    with town.engine.connect() as db:
        assert [one.id for one in audit.entries(db)] == before
    client.post(f"{page}/channels", data=typed | {"interval_s": "77"})
    with town.engine.connect() as db:
        *_, logged = audit.entries(db)
    assert logged.detail["interval_s"] == "77" and "None" not in str(logged.detail)


def test_the_form_proposes_what_an_entry_is(as_person, town, page):
    text = as_person("adam").get(page).text
    assert 'data-parameter="temperature" data-channel_unit="degC" data-resolution="0.01"' in text
    assert '<option value="ph" selected>' in text and '<option value="s.u." selected>' in text


def test_values_of_long_ago_are_not_compared(as_person, town, page):
    client = as_person("adam")
    number = answered(client, town, ph=ORDERS)
    with town.engine.begin() as db:
        q = t.field_question
        db.execute(q.update().values(answered_at=datetime(2026, 1, 1, tzinfo=UTC)))
    answer = client.post(f"{page}/compare", data={"question": number})
    assert answer.status_code == 422
    assert "over five minutes old; read again" in answer.text


@pytest.mark.parametrize("missing", ["approved_on", "document", "location"])
def test_a_missing_paper_is_named_beside_its_field(as_person, town, page, missing):
    unconfirmed(town)
    client = as_person("adam")
    compared(client, town, page)
    answer = client.post(f"{page}/confirm", data=papers(town) | {missing: ""})
    assert answer.status_code == 422 and f'id="{missing}-wrong"' in answer.text
    assert counts(town) == set()


@pytest.mark.parametrize(
    ("step", "typed", "why"),
    [
        ("map", {"map": MAP, "order": "DCBA"}, "DCBA order"),
        (
            "channels",
            {"entry": "ph", "parameter": "ph", "channel_unit": "s.u.", "resolution": "0.01",
             "interval_s": "10"},
            "",
        ),
        (
            "channels",
            {"entry": "temperature", "parameter": "temperature", "channel_unit": "degF",
             "resolution": "0.1", "interval_s": "10"},
            "unit: degC, now degF",
        ),
        (
            "channels",
            {"entry": "ph", "parameter": "ph", "channel_unit": "s.u.", "resolution": "0.1",
             "interval_s": "10"},
            "step: 0.01, now 0.1",
        ),
    ],
)  # fmt: skip
def test_a_change_of_how_it_is_read_ends_its_counting_and_says_so(
    as_person, town, page, step, typed, why
):
    client = as_person("adam")
    with town.engine.begin() as db:
        setting_up.confirm(db, town.instrument, by="Ana Ruiz", at=town.at, how="compared")
    before = counts(town)
    assert client.post(f"{page}/{step}", data=typed).status_code == 303
    text = client.get(page).text
    if why:
        assert counts(town) < before
        assert "counted until" in text and why in text and "Not commissioned" in text
    else:
        assert counts(town) == before and "Not commissioned" not in text
    with town.engine.connect() as db:
        assert len(db.execute(select(t.exceedance)).all()) == 2  # what was found stays


def test_a_point_that_does_not_count_is_marked_in_words_everywhere(as_person, town):
    unconfirmed(town)
    client = as_person("ana")
    for path in ("/", "/live", f"/points/{town.point}"):
        assert "Not commissioned" in client.get(path).text, path
    assert "▲ below" not in client.get("/live").text
    said = client.get(f"/api/v1/points/{town.point}/readings?parameter=ph").json()
    assert said["judged"] == 0 and any(value for value in said["columns"]["low"])
    assert said["not_commissioned"] == [[said["since"], said["until"]]]
    points = client.get("/api/v1/points").json()["points"]
    assert not any(one["commissioned"] for point in points for one in point["channels"])
