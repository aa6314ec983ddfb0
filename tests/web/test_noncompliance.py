"""The half-year of a user on its page, in the API and as a worksheet; who may record what."""

from __future__ import annotations

import csv
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import select, update

from compliance.jobs import noncompliance as counting
from compliance.model.parameters import Parameter
from compliance.model.periods import Window
from compliance.model.samples import Result, Sample, SampleType, TakenBy
from compliance.model.units import Unit
from compliance.records import samples
from compliance.records import tables as t

LETTER = {
    "criterion": "A", "verdict": "snc", "decided_on": "2026-01-15", "signed_by": "Lee Fox",
    "reference": "Letter 26-115", "words": "Zinc was over the limit in most samples.",
}  # fmt: skip


@pytest.fixture
def sampled(town):
    """Three zinc composites of this quarter and one grab, which the permit is not judged on."""
    with town.engine.begin() as db:
        user = db.scalar(select(t.industrial_user.c.id).where(t.industrial_user.c.slug == "acme"))
        point = samples.points(db, user)["MH-1"]
        for number, (value, kind, by) in enumerate(
            (
                ("2.7", SampleType.COMPOSITE, TakenBy.INDUSTRIAL_USER),
                ("3.2", SampleType.COMPOSITE, TakenBy.CITY),
                ("1.0", SampleType.COMPOSITE, TakenBy.INDUSTRIAL_USER),
                ("9.9", SampleType.GRAB, TakenBy.CITY),
            )
        ):
            store(db, point, town.at - timedelta(hours=number + 1), value, kind, by, f"Z-{number}")
    return town


def store(db, point: int, at: datetime, value: str, kind, by, label: str) -> None:
    sample = Sample(
        label=label, point="MH-1", sampled_from=at, sampled_to=at, sample_type=kind, taken_by=by,
        laboratory="Lab",
    )  # fmt: skip
    kept = samples.put_sample(
        db, sample, point_id=point, span=Window(start=at, end=at), day=at.date()
    )
    result = Result(
        parameter=Parameter.ZINC, qualifier="", value=Decimal(value), written=value, unit=Unit.MG_L
    )
    samples.put_result(db, result, sample_id=kept)


def zinc(found: dict) -> dict:
    return next(one for one in found["counts"] if one["parameter"] == "zinc")


def last_of(answer) -> str:
    return answer.json()["window"]["to"]


def test_a_permits_limit_is_counted_whoever_took_the_sample(as_person, sampled):
    found = as_person("jo").get("/api/v1/users/acme/noncompliance").json()
    one = zinc(found)
    assert (one["n"], one["exceed"], one["trc"]) == (3, 2, 1)
    assert (one["chronic_snc"], one["trc_snc"], one["status"]) == (True, True, "significant")
    assert one["says"].startswith("most results over the limit: meets the arithmetic of SNC")
    assert found["rules"].startswith("wisconsin")
    assert found["control_authority"] == "Wisconsin DNR"
    assert any("9.9 mg/L: a grab sample" in said for said in found["left_out"])


def test_a_replicate_and_its_routine_sample_are_one_measurement(as_person, sampled):
    with sampled.engine.begin() as db:
        point = db.scalar(
            select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == "MH-1")
        )
        at = sampled.at - timedelta(hours=1)
        taken = (SampleType.COMPOSITE, TakenBy.INDUSTRIAL_USER, "Z-0 replicate")
        store(db, point, at, "2.3", *taken)
    one = zinc(as_person("ana").get("/api/v1/users/acme/noncompliance").json())
    assert (one["n"], one["exceed"]) == (3, 1)  # (2.7 + 2.3) / 2 is under 2.61


def test_the_page_says_plain_words_and_never_that_it_is_determined(as_person, sampled):
    text = as_person("ana").get("/users/acme/noncompliance").text
    assert "Meets the arithmetic, not determined" in text
    assert "Wisconsin DNR determines" in text
    assert "No data is not compliance" in text
    assert "Record a determination" in text
    assert "Record a determination" not in as_person("jo").get("/users/acme/noncompliance").text


def test_the_worksheet_holds_each_result(as_person, sampled):
    answer = as_person("jo").get("/users/acme/noncompliance.csv")
    rows = [row for row in csv.DictReader(answer.text.splitlines()) if row["parameter"] == "zinc"]
    assert sorted((row["result"], row["exceeds"], row["well_over"]) for row in rows) == [
        ("1.0", "no", "no"),
        ("2.7", "yes", "no"),
        ("3.2", "yes", "yes"),
    ]
    assert {row["taken_by"] for row in rows} == {"industrial user", "city"}


def test_a_determination_of_the_control_authority_is_recorded_and_taken_back(as_person, town):
    client = as_person("ana")
    end = last_of(client.get("/api/v1/users/acme/noncompliance"))
    sent = client.post("/users/acme/noncompliance", data={**LETTER, "quarter_end": end})
    assert sent.status_code == 303, sent.text
    (found,) = client.get("/api/v1/users/acme/noncompliance").json()["determined"]
    assert (found["authority"], found["criterion"]) == ("Wisconsin DNR", "A")
    assert "Ana Ruiz" in found["entered_by"]
    with town.engine.connect() as db:
        noted = db.execute(select(t.audit).order_by(t.audit.c.id.desc()).limit(1)).mappings().one()
    assert noted["subject"] == f"noncompliance:{found['id']}"
    where = f"/noncompliance/{found['id']}/withdraw"
    assert client.post(where, data={"reason": "short"}).status_code == 422
    assert client.post(where, data={"reason": "entered twice"}).status_code == 303
    (found,) = client.get("/api/v1/users/acme/noncompliance").json()["determined"]
    assert found["withdrawn"]["why"] == "entered twice"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reference": ""}, "Wisconsin DNR determines and not the city"),
        ({"criterion": "Z"}, "Choose the criterion"),
        ({"verdict": ""}, "Choose what was determined"),
        ({"quarter_end": "2026-06-29"}, "last day of a calendar quarter"),
        ({"decided_on": "2999-01-01"}, "day of the letter"),
        ({"decided_on": "2199-01-01"}, "That day has not come yet"),
        ({"signed_by": " "}, "who decided at the control authority"),
        ({"words": "short"}, "at least 8 characters"),
    ],
)
def test_what_lacks_is_said_beside_its_field(as_person, town, change, said):
    body = {**LETTER, "quarter_end": "2026-06-30", **change}
    answer = as_person("dan").post("/users/acme/noncompliance", data=body)
    assert answer.status_code == 422 and said in answer.text
    assert f'{next(iter(change))}-wrong"' in answer.text


@pytest.mark.parametrize("login", ["jo", "olga", "cleo", "adam"])
def test_only_coordinator_and_director_record_what_was_determined(as_person, town, login):
    client = as_person(login)
    body = {**LETTER, "quarter_end": "2026-06-30"}
    for path in ("/users/acme/noncompliance", "/api/v1/users/acme/noncompliance"):
        assert client.post(path, data=body).status_code == 403, path
    where = f"/noncompliance/{town.snc}/withdraw"
    assert client.post(where, data={"reason": "because I say so"}).status_code == 403


def test_where_the_city_is_the_control_authority_its_director_determines(as_person, town):
    with town.engine.begin() as db:
        db.execute(update(t.city).values(control_authority="City of Prescott"))
    body = {**LETTER, "quarter_end": "2026-06-30", "reference": ""}
    where = "/api/v1/users/acme/noncompliance"
    assert as_person("ana").post(where, data=body).status_code == 403
    assert as_person("dan").post(where, data=body).status_code == 201


def test_the_same_key_records_once(as_person, town):
    client, where = as_person("ana"), "/api/v1/users/acme/noncompliance"
    body, key = {**LETTER, "quarter_end": "2026-06-30"}, {"idempotency-key": "k1"}
    answers = [client.post(where, data=body, headers=key) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


def test_a_half_year_without_results_is_no_data(as_person, town):
    found = as_person("ana").get("/api/v1/users/acme/noncompliance?as_of=2020-03-01").json()
    assert {one["status"] for one in found["counts"]} == {"no data"}
    assert found["window"] == {"from": "2019-10-01", "to": "2020-03-31"}


def test_a_user_is_counted_by_the_job_as_by_the_page(sampled):
    with sampled.engine.connect() as db:
        user = db.scalar(select(t.industrial_user.c.id).where(t.industrial_user.c.slug == "acme"))
        found = counting.half_year(db, user, as_of=sampled.at.date())
    assert isinstance(found.last, date)
    assert [one.tally.exceed for one in found.seen if one.tally.n] == [2]
