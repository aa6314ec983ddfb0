"""What was measured since a bill was issued: who sees it, and who settles it."""

from __future__ import annotations

import json
from datetime import date

import pytest

from compliance.model.reviews import Review
from compliance.records import reviews
from tests.support.billed import EVERYBODY, reviewed
from tests.support.town import Town
from tests.web.test_hostile import HOSTILE, faults

REASON = "The bill rests on the city's own meter"


@pytest.fixture
def review(town: Town) -> Review:
    return reviewed(town.engine, town.bill, town.channel, date(2026, 8, 3))


def sent(*ones: Review, reason: str = REASON) -> dict[str, object]:
    seen = [{"review": one.id, "version": one.version} for one in ones]
    return {"reviews": seen, "reason": reason}


def test_the_clerk_finds_a_changed_bill_on_the_board_and_in_the_list(as_person, town, review):
    client = as_person("cleo")
    assert f'href="/bills/{town.bill}#measured"' in client.get("/").text
    listed = client.get("/bills").text
    assert listed.count("measured since: 1 day") == 1
    shown = client.get(f"/bills/{town.bill}").text
    assert "144,000 gal" in shown
    assert "nothing was measured" in shown
    assert "may be right as it is" in shown
    assert "Measured since" not in client.get(f"/bills/{town.others_bill}").text


def test_the_clerk_settles_the_days_that_he_ticked(as_person, town, review):
    other = reviewed(town.engine, town.bill, town.channel, date(2026, 8, 4))
    client, where = as_person("cleo"), f"/bills/{town.bill}"
    page = client.get(where).text
    assert page.count('name="day"') == 2
    body = {"day": f"{review.id}.{review.version}", "reason": REASON}
    answer = client.post(f"{where}/settle", data=body)
    assert (answer.status_code, answer.headers["location"]) == (303, where)
    page = client.get(where).text
    assert "by Cleo Voss, City Clerk" in page
    assert page.count('name="day"') == 1
    assert [one.id for one in of_town(town) if one.is_open] == [other.id]


def of_town(town: Town) -> list[Review]:
    with town.engine.connect() as db:
        return list(reviews.of_bill(db, EVERYBODY, town.bill))


@pytest.mark.parametrize(
    ("day", "reason", "said"),
    [
        ("{id}.1", "no", "at least"),
        ("", REASON, "a number, a dot and a number"),
        ("{id}", REASON, "a number, a dot and a number"),
        ("{id}.7", REASON, "has changed again"),
        ("999.1", REASON, "has no review 999"),
        (None, REASON, "choose at least one"),
    ],
)
def test_what_is_missing_is_said_on_the_page(as_person, town, review, day, reason, said):
    body = {"reason": reason} | ({} if day is None else {"day": day.format(id=review.id)})
    answer = as_person("cleo").post(f"/bills/{town.bill}/settle", data=body)
    assert answer.status_code == 422
    assert said in answer.text
    assert all(one.is_open for one in of_town(town))


@pytest.mark.parametrize("login", ["jo", "ana", "adam"])
def test_others_see_it_and_do_not_settle_it(as_person, town, review, login):
    client, where = as_person(login), f"/bills/{town.bill}"
    page = client.get(where).text
    assert "144,000 gal" in page
    assert f'action="{where}/settle"' not in page
    assert "checkbox" not in page
    assert "#measured" not in client.get("/").text
    assert len(client.get(f"/api/v1{where}/reviews").json()["reviews"]) == 1
    body = {"day": f"{review.id}.1", "reason": REASON}
    assert client.post(f"{where}/settle", data=body).status_code == 403
    assert client.post(f"/api/v1{where}/reviews", json=sent(review)).status_code == 403


def test_an_operator_sees_no_bill(as_person, town, review):
    client = as_person("olga")
    assert client.get(f"/api/v1/bills/{town.bill}/reviews").status_code == 403


def test_a_review_of_another_users_bill_is_not_reached_through_ones_own(as_person, town, review):
    others = reviewed(town.engine, town.others_bill, town.others_channel, date(2026, 8, 3))
    assert "144,000" in as_person("jo").get(f"/bills/{town.bill}").text
    assert as_person("jo").get(f"/api/v1/bills/{town.others_bill}/reviews").status_code == 404
    client = as_person("cleo")
    answer = client.post(f"/api/v1/bills/{town.bill}/reviews", json=sent(others))
    assert answer.status_code == 404


def test_a_program_reads_and_settles(as_person, town, review):
    client, where = as_person("dan"), f"/api/v1/bills/{town.bill}/reviews"
    found = client.get(where).json()
    assert found["bill"] == town.bill
    one = found["reviews"][0]
    assert (one["day"], one["what"], one["was"], one["now"], one["unit"], one["version"]) == (
        "2026-08-03", "volume", None, "144000", "gal", 1,
    )  # fmt: skip
    assert one["working"] == [
        "was: nothing was measured",
        "is: flow rate times time: 144,000 gal, from 100 % of the day",
    ]
    answer = client.post(where, json=sent(review))
    assert answer.status_code == 200
    settled = answer.json()["reviews"][0]
    assert settled["settled_why"] == REASON
    assert settled["settled_by"] == "Dan Moe, Director of Public Works"
    assert client.post(where, json=sent(review)).status_code == 403


@pytest.mark.parametrize("field", ["review", "version", "reason", "reviews", "other"])
def test_no_hostile_settling_is_a_fault(as_person, town, review, field):
    client = as_person("cleo")
    for value in (*HOSTILE, "\ud800", None, [], {}, 1.5, 10**30, -1):
        body = sent(review)
        (body["reviews"][0] if field in ("review", "version") else body)[field] = value
        answer = client.post(
            f"/api/v1/bills/{town.bill}/reviews",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )
        is_harmless = field == "reason" and answer.status_code in (200, 403)
        assert is_harmless or answer.status_code in (400, 404, 422), (value, answer.text)
    assert faults(town) == []
