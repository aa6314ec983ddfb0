"""The API: strict JSON, gaps that stay gaps, problem+json, keys that make a repeat harmless."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update

from compliance.records import tables as t

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


def test_a_file_over_the_limit_is_refused_before_it_is_read(as_person):
    answer = as_person("jo").post("/api/v1/results", files={"file": ("big.csv", b"x" * 5_000_000)})
    assert answer.status_code == 413


def test_health_checks_say_whether_the_schema_fits(visitor, town):
    assert visitor.get("/healthz").json() == {"status": "ok"}
    assert visitor.get("/readyz").status_code == 200
    with town.engine.begin() as db:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = 'older'")
    answer = visitor.get("/readyz")
    assert answer.status_code == 503 and "pretreat migrate" in answer.json()["reason"]


def test_the_api_describes_itself(as_person):
    client = as_person("ana")
    assert "/api/v1/violations" in client.get("/api/openapi.json").json()["paths"]
    assert "/api/v1/violations" in client.get("/api/docs").text
