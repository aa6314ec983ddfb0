"""The page of deliveries and its API: each city its own messages, each role what it may read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update

from compliance.records import outbox
from compliance.records import tables as t

SECRET = "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
HIDDEN = "https://all.example/hook"


@pytest.fixture
def two_cities(town):
    """Beside Prescott a Monona, and a receiver of all cities that fails."""
    with town.engine.begin() as db:
        prescott = db.scalar(t.city.select().with_only_columns(t.city.c.id))
        monona = db.execute(
            insert(t.city).values(
                slug="monona", name="Monona", zone="America/Chicago", rulebooks=["monona"],
                control_authority="MMSD", ordinance_authority="Monona", billing_authority="Monona",
            )
        ).inserted_primary_key[0]  # fmt: skip
        outbox.add_endpoint(db, url=HIDDEN, secret=SECRET)
        outbox.put(db, "slug.suspected", {"point": "MONONA-ONLY"}, monona)
        outbox.put(db, "slug.suspected", {"point": "PRESCOTT-TOO"}, prescott)
        outbox.put(db, "bill.issued", {"bill": "B-9", "total": "1234.56"}, prescott)
        outbox.put(db, "trigger.reached", {"point": "OF-NO-CITY"})
        for one in outbox.due(db, now=datetime.now(UTC) + timedelta(seconds=1)):
            tried = outbox.Attempt(
                at=datetime.now(UTC), status=None, milliseconds=5, headers={},
                answer=f"ConnectError: {one.url}",
            )  # fmt: skip
            outbox.record_attempt(db, one, tried, next_at=datetime.now(UTC) + timedelta(hours=1))
    return town


def test_a_city_sees_no_message_of_another_city_nor_of_none(as_person, two_cities):
    client = as_person("ana")
    text = client.get("/webhooks").text
    assert "PRESCOTT-TOO" in text
    assert "MONONA-ONLY" not in text and "OF-NO-CITY" not in text
    said = client.get("/api/v1/webhooks/deliveries").json()["deliveries"]
    assert sorted(one["type"] for one in said) == [
        "bill.issued", "bill.issued", "slug.suspected", "slug.suspected", "violation.detected",
    ]  # fmt: skip
    assert "Waiting 5<" in text


def test_who_sees_all_cities_sees_every_message(as_person, two_cities):
    with two_cities.engine.begin() as db:
        db.execute(update(t.person).where(t.person.c.login == "adam").values(city_id=None))
    text = as_person("adam").get("/webhooks").text
    for name in ("PRESCOTT-TOO", "MONONA-ONLY", "OF-NO-CITY", HIDDEN):
        assert name in text


@pytest.mark.parametrize("where", ["/webhooks", "/", "/api/v1/webhooks/deliveries"])
def test_where_a_receiver_of_all_cities_stands_is_the_administrators_business(
    as_person, two_cities, where
):
    text = as_person("ana").get(where).text
    assert "a receiver of all cities" in text and "all.example" not in text
    text = as_person("adam").get(where).text
    assert HIDDEN in text


def test_a_bill_is_told_only_to_those_who_may_read_bills(as_person, two_cities):
    client = as_person("olga")
    text = client.get("/webhooks").text
    assert "bill.issued" in text and "1234.56" not in text and "B-9" not in text
    assert "shown to those who may read bills" in text
    assert "PRESCOTT-TOO" in text
    assert "1234.56" in as_person("cleo").get("/webhooks").text


def test_a_state_that_does_not_exist_is_refused_in_the_api_as_on_the_page(as_person, town):
    client = as_person("ana")
    for where in (
        "/webhooks", "/detections", "/api/v1/detections", "/api/v1/webhooks/deliveries",
    ):  # fmt: skip
        assert client.get(where, params={"state": "lost"}).status_code == 422, where
    said = client.get("/api/v1/detections", params={"state": "lost"}).json()["detail"]
    assert said.startswith("The parameter state is 'lost'; expected one of ")
