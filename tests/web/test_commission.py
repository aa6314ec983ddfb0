"""Pages on which an instrument is commissioned: who may, what is refused, what is said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, select

from compliance.records import audit, counting, maps, questions, setting_up
from compliance.records import tables as t
from compliance.records.scope import Scope
from tests.support.polling import entry, mapped

MAP = "eh-liquiline-cm44x"
CONFIRMED = {
    "location": "flume",
    "frequency": "continuous",
    "approved_by": "Dan Moe, Director",
    "approved_on": "2026-03-01",
    "document": "letter 7",
}


@pytest.fixture
def page(town) -> str:
    """The page of the town's first instrument, whose map leaves the order of pH open."""
    found = mapped(
        entry("ph", 0, type="float32", order=None),
        entry("temperature", 4, scale="0.1", unit="degC"),
        entry("level", 6, unit=None, share=True),
        entry("serial", 8, type="string", words=2, unit=None, kind="identity"),
        name=MAP,
    )
    with town.engine.begin() as db:
        plain = maps.content(found)
        maps.publish(db, name=MAP, sha256=maps.sha256(found), content=plain, published_by="w")
    return f"/instruments/{town.instrument}/commission"


def channels(town) -> dict[str, int]:
    with town.engine.connect() as db:
        c = t.channel.c
        rows = db.execute(select(c.entry, c.id).where(c.instrument_id == town.instrument))
        return {name: number for name, number in rows}


def answered(client, town, *, ph: dict[str, str | None], temperature: str = "21.3") -> int:
    """Ask as the page does, and answer as a worker would."""
    body = {"instrument": town.instrument}
    number = client.post("/api/v1/field-questions", json=body).json()["question"]
    said = [
        {"name": "ph", "words": ["0xA3D7", "0x40E0"], "problem": "", "values": [
            {"order": o, "value": v, "text": "", "quality": "good", "reason": ""}
            for o, v in ph.items()
        ]},
        {"name": "temperature", "words": ["0x00D5"], "problem": "", "values": [
            {"order": None, "value": temperature, "text": "", "quality": "good", "reason": ""}
        ]},
    ]  # fmt: skip
    with town.engine.begin() as db:
        questions.answer(db, number, content={"entries": said})
    return number


ORDERS = {"ABCD": "-1.2E-11", "CDAB": "7.02", "BADC": None, "DCBA": "3E+9"}


def compared(client, town, page: str, *, ph: str = "7.02", temperature: str = "21.3"):
    """Compare what was read with a display; the page after it."""
    ids = channels(town)
    shown = {f"display_{ids['ph']}": ph, f"display_{ids['temperature']}": temperature}
    number = answered(client, town, ph=ORDERS)
    answer = client.post(f"{page}/compare", data={"question": number, **shown})
    return answer if answer.status_code != 303 else client.get(page)


def papers(town) -> dict[str, str]:
    each = {}
    for number in channels(town).values():
        each |= {f"method_{number}": "EPA 150.2", f"days_{number}": "30"}
    return CONFIRMED | each


def unconfirmed(town) -> None:
    """As it is before anybody has confirmed it."""
    with town.engine.begin() as db:
        db.execute(t.counting.delete())


def counts(town) -> set[int]:
    with town.engine.connect() as db:
        return counting.counts(db, list(channels(town).values()), at=datetime.now(UTC))


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
    assert "which proves none of them" in client.get(page).text
    assert client.post(f"{page}/confirm", data=papers(town)).status_code == 422


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
            "another unit, span or parameter",
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


def test_a_question_sent_twice_under_one_key_is_asked_once(as_person, town, page):
    client = as_person("adam")
    body = {
        "kind": "scan",
        "address": "rtu+tcp://10.0.0.7:4001?pause=100",
        "unit": 1,
        "last_unit": 9,
    }
    sent = [
        client.post("/api/v1/field-questions", json=body, headers={"idempotency-key": "k"})
        for _ in range(2)
    ]
    assert [one.status_code for one in sent] == [201, 201]
    assert sent[0].json() == sent[1].json()
    told = client.get(sent[0].json()["href"]).json()
    assert (told["state"], told["kind"]) == ("waiting", "scan")
    with town.engine.connect() as db:
        (row,) = db.execute(select(t.field_question)).all()
    assert (row.host, row.port, row.transport) == ("10.0.0.7", 4001, "rtu+tcp?pause=100")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "scan", "address": "10.0.0.7", "unit": 1, "last_unit": 200},
        {"kind": "read", "address": "10.0.0.7", "unit": 1, "map": "nobody-has-it"},
        {"kind": "scan", "address": "http://10.0.0.7/"},
        {"kind": "write", "address": "10.0.0.7"},
        {"kind": "scan", "gateway": 99999},
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(as_person, town, body):
    answer = as_person("adam").post("/api/v1/field-questions", json=body)
    assert answer.status_code in (404, 422)
    assert answer.json()["detail"]


def test_a_gateway_that_serves_another_city_is_not_there(as_person, town, page):
    with town.engine.begin() as db:
        said = {"control_authority": "a", "ordinance_authority": "b", "billing_authority": "c"}
        kind = {"makes": "m", "is_significant": True, "category": "C", "water_meter": "2 in"}
        made = insert(t.city).values(slug="m", name="M", zone="UTC", rulebooks=[], **said)
        city = db.execute(made).inserted_primary_key[0]
        user = db.execute(
            insert(t.industrial_user).values(city_id=city, slug="x", name="X", **kind)
        ).inserted_primary_key[0]
        point = db.execute(
            insert(t.monitoring_point).values(industrial_user_id=user, code="M-1", place="p")
        ).inserted_primary_key[0]
        gateway = db.execute(
            insert(t.gateway).values(name="theirs", host="10.9.9.9", port=502)
        ).inserted_primary_key[0]
        ids = {"gateway_id": gateway, "monitoring_point_id": point}
        theirs = db.execute(
            insert(t.instrument).values(**ids, unit_id=1, map_name=MAP)
        ).inserted_primary_key[0]
    client = as_person("adam")
    assert "theirs" not in client.get("/instruments/new").text
    assert client.get(f"/instruments/new/{gateway}").status_code == 404
    assert client.get(f"/instruments/{theirs}/commission").status_code == 404
