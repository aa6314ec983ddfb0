"""The API: strict JSON, gaps that stay gaps, problem+json, keys that make a repeat harmless."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update

from compliance.records import tables as t
from compliance.records import timescale

GOOD = "Sample,Point,Collected,Parameter,Result,Unit\nL-1,MH-1,2026-11-20 08:00,TSS,210,mg/L\n"
REASON = "The acid tank overflowed; the operator confirmed it."


def strict(text: str) -> Any:
    """JSON as RFC 8259 has it: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_readings_break_the_line_at_a_silence_and_list_it(as_person, town):
    """WEB-01"""
    answer = as_person("ana").get(
        f"/api/v1/points/{town.point}/readings", params={"parameter": "ph"}
    )
    said = strict(answer.text)
    start = int(town.at.timestamp() * 1000)
    since_then = [(start - begins, start - ends) for begins, ends in said["gaps"]]
    assert (1_790_000, 1_190_000) in since_then
    at, low = said["columns"]["at"], said["columns"]["low"]
    assert low[at.index(start - 1_790_000)] is None
    assert (said["judged"], said["flagged"]) == (660, 60)


def test_history_at_a_slower_interval_is_one_line_with_what_is_live(as_person, town):
    """WEB-01: a channel that was stored every five minutes and is now read every ten seconds."""
    with town.engine.begin() as db:
        channel = db.scalar(select(t.exceedance.c.channel_id).limit(1))
        begins = town.at - timedelta(hours=2)
        db.execute(
            insert(t.channel_cadence).values(
                channel_id=channel, since=begins - timedelta(days=1), interval_ms=300_000
            )
        )
        db.execute(
            update(t.channel_cadence)
            .where(t.channel_cadence.c.interval_ms == 10_000)
            .values(since=begins)
        )
        db.execute(
            insert(t.reading),
            [
                {
                    "channel_id": channel, "read_at": begins - n * timedelta(minutes=5),
                    "value": 7.2, "quality": 0, "offset_ms": 0, "batch_id": 9,
                }
                for n in range(1, 200)
            ],
        )  # fmt: skip
    said = strict(as_person("ana").get(f"/api/v1/points/{town.point}/readings?parameter=ph").text)
    silences = [(ends - starts) // 1000 for starts, ends in said["gaps"][1:]]
    assert silences == [600]  # the outage; the first is the time before the history
    assert said["columns"]["low"].count(None) == 2


def test_readings_come_with_limits_their_citations_and_the_excursions(as_person, town):
    said = strict(as_person("ana").get(f"/api/v1/points/{town.point}/readings").text)
    assert {one["label"] for one in said["limits"]} >= {"min 6.0", "max 9.0"}
    assert all(one["citation"] for one in said["limits"])
    assert said["excursions"][0]["says"] == "pH below 6.0 for 5 min"


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "2026-03-01T08:00:00"},
        {"since": "2026-03-02T08:00:00Z", "until": "2026-03-01T08:00:00Z"},
        {"since": "yesterday"},
    ],
)
def test_a_span_that_cannot_be_is_a_problem_in_one_sentence(as_person, town, asked):
    answer = as_person("ana").get(f"/api/v1/points/{town.point}/readings", params=asked)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "\n" not in strict(answer.text)["detail"]


def test_the_same_idempotency_key_opens_one_violation(as_person, town):
    client = as_person("ana")
    body = {"detection": town.detection, "reason": REASON}
    answers = [
        client.post("/api/v1/violations", json=body, headers={"idempotency-key": "k1"})
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    other = client.post("/api/v1/violations", json=body, headers={"idempotency-key": "k2"})
    assert other.status_code == 403
    with town.engine.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.violation)) == 1


def test_a_key_that_comes_again_with_another_request_is_refused(as_person, town):
    client = as_person("ana")
    headers = {"idempotency-key": "k1"}
    body = {"detection": town.detection, "reason": REASON}
    assert client.post("/api/v1/violations", json=body, headers=headers).status_code == 201
    for other in ({**body, "reason": REASON + " Twice."}, {**body, "detection": 2}):
        answer = client.post("/api/v1/violations", json=other, headers=headers)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert "used before for another request" in answer.json()["detail"]
    files = {"file": ("lab.csv", GOOD)}
    answer = client.post(
        "/api/v1/results", files=files, data={"industrial_user": "1"}, headers=headers
    )
    assert answer.status_code == 422


def test_another_file_under_the_same_key_is_refused_and_the_same_one_is_not(as_person, town):
    client = as_person("jo")
    send = [("lab.csv", GOOD), ("lab.csv", GOOD), ("lab.csv", GOOD.replace("210", "211"))]
    answers = [
        client.post("/api/v1/results", files={"file": one}, headers={"idempotency-key": "k"})
        for one in send
    ]
    assert [one.status_code for one in answers] == [201, 201, 422]
    assert answers[0].json() == answers[1].json()
    with town.engine.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.upload)) == 1


def _older(town) -> None:
    """The detection that was stored last is of the event that happened first."""
    with town.engine.begin() as db:
        last = db.scalar(select(func.max(t.detection.c.id)))
        fact = select(t.detection.c.exceedance_id).where(t.detection.c.id == last)
        db.execute(
            update(t.exceedance)
            .where(t.exceedance.c.id == fact.scalar_subquery())
            .values(starts_at=t.exceedance.c.starts_at - timedelta(days=3))
        )


def test_the_newest_event_comes_first_whenever_it_was_found(as_person, town):
    _older(town)
    client = as_person("ana")
    wanted = [town.detection, town.others_detection]
    said = client.get("/api/v1/detections").json()["detections"]
    assert [one["detection"] for one in said] == wanted
    text = client.get("/detections").text
    first, second = (text.index(f"/detections/{one}") for one in wanted)
    assert first < second
    page = client.get("/api/v1/detections", params={"limit": 1}).json()
    assert [one["detection"] for one in page["detections"]] == wanted[:1]
    page = client.get("/api/v1/detections", params={"limit": 1, "cursor": page["next"]}).json()
    assert [one["detection"] for one in page["detections"]] == wanted[1:]


def test_a_cursor_that_is_not_theirs_tells_nobody_anything(as_person, town):
    answer = as_person("jo").get(
        "/api/v1/detections", params={"cursor": str(town.others_detection)}
    )
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"reason": REASON}, "The field detection is missing; send it."),
        ({"detection": "x", "reason": REASON},
         "The field detection is 'x'; expected a whole number."),
        ({"detection": 1, "reason": "short"},
         "The field reason: 'short' is too short; write at least 8 characters, "
         "it is read at a hearing."),
        ({"detection": 1, "reason": REASON, "state": 1},
         "The field state is not one of this request; leave it out."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_body_is_said_in_our_words(as_person, body, says):
    answer = as_person("ana").post("/api/v1/violations", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, says)


def test_pages_of_detections_follow_a_cursor(as_person, town):
    client = as_person("ana")
    first = client.get("/api/v1/detections", params={"limit": 1}).json()
    second = client.get("/api/v1/detections", params={"limit": 1, "cursor": first["next"]}).json()
    ids = [page["detections"][0]["detection"] for page in (first, second)]
    assert sorted(ids) == sorted([town.detection, town.others_detection])


def test_results_sent_by_a_program_report_their_faults_by_row(as_person, town):
    content = (
        "Sample,Point,Collected,Parameter,Result,Unit\n"
        "L-1,MH-1,2026-11-20 08:00,TSS,210,mg/L\nL-2,MH-1,2026-11-20 08:00,TSS,many,mg/L\n"
    )
    answer = as_person("jo").post("/api/v1/results", files={"file": ("lab.csv", content)})
    said = strict(answer.text)
    assert (answer.status_code, said["stored"], len(said["rejected"])) == (201, 1, 1)
    assert said["rejected"][0]["row"] == 3


@pytest.mark.parametrize("where", ["/api/v1/results", "/upload/check"])
@pytest.mark.parametrize("size", [4_000_001, 5_500_000])
def test_a_file_over_the_limit_is_refused_with_the_limit(as_person, where, size):
    client = as_person("jo")
    answer = client.post(where, files={"file": ("big.csv", b"x" * size)})
    assert answer.status_code in (413, 422)
    assert "4,000,000" in answer.text and "split" in answer.text
    if where == "/upload/check":
        assert answer.text.startswith("<!doctype html>")
    else:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
    assert "4,000,000 bytes" in client.get("/upload").text


def test_a_body_over_the_limit_that_is_no_upload_is_refused_too(as_person):
    client = as_person("ana")
    pieces = (b"x" * 10_000 for _ in range(20))  # no length is declared
    for body in ({"json": {"reason": "x" * 200_000}}, {"content": pieces}):
        answer = client.post("/api/v1/violations", **body)
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"
        assert "100,000 bytes" in answer.json()["detail"]


def test_health_checks_say_whether_the_schema_fits(visitor, town):
    assert visitor.get("/healthz").json() == {"status": "ok"}
    ready = visitor.get("/readyz")
    assert ready.status_code == 200
    with town.engine.connect() as db:
        assert ready.json()["edition"] == timescale.edition(db)
    with town.engine.begin() as db:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = 'older'")
    answer = visitor.get("/readyz")
    assert answer.status_code == 503 and "pretreat migrate" in answer.json()["reason"]


@pytest.mark.parametrize(("age", "status"), [(31, 200), (61, 503)])
def test_a_process_has_a_minute_before_the_installation_counts_as_degraded(
    visitor, town, age, status
):
    with town.engine.begin() as db:
        at = datetime.now(UTC) - timedelta(seconds=age)
        db.execute(insert(t.heartbeat).values(process="work", at=at, detail={}))
    assert visitor.get("/readyz").status_code == status


def test_the_description_names_the_fields_of_every_body(as_person):
    text = as_person("ana").get("/api/docs").text
    for field in ("detection", "reason", "file", "industrial_user"):
        assert f"<li><code>{field}</code>" in text
    assert "multipart/form-data" in text and "application/json" in text


def test_the_api_describes_itself(as_person):
    client = as_person("ana")
    assert "/api/v1/violations" in client.get("/api/openapi.json").json()["paths"]
    assert "/api/v1/violations" in client.get("/api/docs").text
