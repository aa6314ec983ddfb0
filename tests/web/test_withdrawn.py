"""A violation whose finding was withdrawn after it was opened: never silent, never green."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from compliance.jobs.evaluate import evaluate
from compliance.records import readings
from compliance.records import tables as t

REASON = "The acid tank overflowed; the operator confirmed it by telephone."
WHY = "the probe lay dry, see the photo"
CALM = "No excursion was found in this time"


@pytest.fixture
def judged(town):
    """The town with its readings judged by the program itself."""
    since, until = town.at - timedelta(hours=3), town.at + timedelta(seconds=10)
    with town.engine.begin() as db:
        db.execute(t.detection.delete())
        db.execute(t.exceedance.delete())
        ids = [town.channel, town.others_channel]
        readings.mark_dirty(db, ids, since=since, until=until, why="test")
    judge(town)
    return town


def judge(town) -> None:
    evaluate(town.engine, now=town.at + timedelta(hours=1), release="test")


def finding(town) -> int:
    with town.engine.connect() as db:
        mine = t.exceedance.c.channel_id == town.channel
        return db.scalar(select(t.detection.c.id).join(t.exceedance).where(mine))


def determined_invalid(client, town) -> None:
    start = town.at - timedelta(minutes=41)
    sent = {
        "verdict": "invalid",
        "since": start.isoformat(),
        "until": (start + timedelta(minutes=7)).isoformat(),
        "reason": WHY,
    }
    answer = client.post(f"/api/v1/channels/{town.channel}/determinations", data=sent)
    assert answer.status_code == 201, answer.text
    judge(town)


def opened(client, detection: int) -> str:
    body = {"detection": detection, "reason": REASON}
    answer = client.post("/api/v1/violations", json=body)
    assert answer.status_code == 201, answer.text
    told = answer.json()
    assert (told["finding_withdrawn"], told["differs"]) == (None, None)
    return told["violation"]


def test_a_violation_whose_finding_was_withdrawn_is_named_as_one(as_person, judged):
    client, detection = as_person("ana"), finding(judged)
    number = opened(client, detection)
    assert "its finding was withdrawn" not in client.get("/violations").text
    determined_invalid(client, judged)
    (told,) = client.get("/api/v1/violations").json()["violations"]
    assert told["state"] == "opened" and told["differs"]
    assert told["finding_withdrawn"]["at"] and WHY in told["finding_withdrawn"]["why"]
    assert client.get(f"/api/v1/violations/{number}").json() == told
    page = client.get(f"/violations/{number}").text
    assert page.index("<strong>opened</strong>") < page.index("judged anew")
    listed = client.get("/violations").text
    assert "its finding was withdrawn" in listed and WHY in listed
    for login in ("ana", "jo"):
        client = as_person(login)
        point = client.get(f"/points/{judged.point}?range=24h").text
        assert f'href="/violations/{number}"' in point
        assert f'href="/detections/{detection}"' in point
        assert CALM not in point and "no excursion" not in point and "empty well" not in point
        chart = client.get(f"/api/v1/points/{judged.point}/readings").json()
        assert number in chart["says"] and "no excursion" not in chart["says"]
    earlier = (judged.at - timedelta(days=3)).isoformat()
    before = client.get(f"/points/{judged.point}", params={"range": "24h", "until": earlier})
    assert before.status_code == 200 and number not in before.text


def test_a_withdrawn_finding_that_opened_nothing_leaves_the_point_calm(as_person, judged):
    client = as_person("ana")
    determined_invalid(client, judged)
    point = client.get(f"/points/{judged.point}?range=24h").text
    assert CALM in point and "/violations/" not in point


def test_the_timeline_of_a_finding_runs_in_order_of_time(as_person, judged):
    client, detection = as_person("ana"), finding(judged)
    where = f"/detections/{detection}"
    with judged.engine.begin() as db:
        d = t.detection.c
        found, fact = db.execute(
            select(d.detected_at, d.exceedance_id).where(d.id == detection)
        ).one()
        for minutes in (1, 3):
            db.execute(
                insert(t.exceedance_history).values(
                    exceedance_id=fact, at=found + timedelta(minutes=minutes), why="late", was={}
                )
            )
        db.execute(
            insert(t.act).values(
                subject=f"detection:{detection}",
                verb="wait",
                reason="",
                detail={},
                at=found + timedelta(minutes=2),
            )
        )
    page = client.get(where).text
    (timeline,) = re.findall(r'<ul class="timeline">(.*?)</ul>', page, re.DOTALL)
    told = re.findall(r"found</strong>|judged anew|wait</strong>", timeline)
    assert told == ["found</strong>", "judged anew", "wait</strong>", "judged anew"]
