"""Questions to instruments over the API: once each, within reach, and not to another city's."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from compliance.records import tables as t
from tests.support.commission import MAP


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


@pytest.fixture
def others(town) -> tuple[int, int]:
    """A gateway of another city, at 10.9.9.9, and the instrument behind it, by their ids."""
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
    return gateway, theirs


def test_a_gateway_that_serves_another_city_is_not_there(as_person, town, page, others):
    gateway, theirs = others
    client = as_person("adam")
    assert "theirs" not in client.get("/instruments/new").text
    assert client.get(f"/instruments/new/{gateway}").status_code == 404
    assert client.get(f"/instruments/{theirs}/commission").status_code == 404


def test_nor_is_it_asked_by_its_address_or_set_up_again(as_person, town, page, others):
    client = as_person("adam")
    for host in ("10.9.9.9", "[::ffff:10.9.9.9]", "tcp://10.9.9.9:502"):
        asked = client.post("/api/v1/field-questions", json={"kind": "scan", "address": host})
        assert asked.status_code == 422
        assert "is a gateway of another city" in asked.json()["detail"]
    typed = {"name": "mine", "host": "::ffff:10.9.9.9", "port": "502", "transport": "tcp"}
    answer = client.post("/instruments/new", data=typed)
    assert (answer.status_code, "is a gateway of another city" in answer.text) == (422, True)
    with town.engine.connect() as db:
        assert not db.execute(select(t.field_question)).all()


@pytest.mark.parametrize(
    ("host", "port", "transport", "says"),
    [
        ("169.254.169.254", "80", "tcp", "in no network of PRETREAT_FIELD_ALLOW"),
        ("8.8.8.8", "53", "rtu+tcp", "in no network of PRETREAT_FIELD_ALLOW"),
        ("nowhere.invalid", "502", "tcp", "expected a name that is known here"),
        ("/etc/passwd", "0", "serial", "is no serial device"),
    ],
)
def test_what_is_out_of_reach_is_neither_asked_nor_set_up(
    as_person, town, page, host, port, transport, says
):
    client = as_person("adam")
    address = f"serial:{host}" if transport == "serial" else f"{transport}://{host}:{port}"
    asked = client.post("/api/v1/field-questions", json={"kind": "scan", "address": address})
    assert (asked.status_code, says in asked.json()["detail"]) == (422, True)
    typed = {"name": "far", "host": host, "port": port, "transport": transport}
    answer = client.post("/instruments/new", data=typed)
    assert (answer.status_code, says in answer.text) == (422, True)
    assert 'id="host-wrong"' in answer.text
