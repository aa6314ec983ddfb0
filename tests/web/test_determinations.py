"""Determinations and corrections on pages and API: looked at first, saved once, told everywhere."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError

from app.sizes import largest
from compliance.jobs.evaluate import evaluate
from compliance.jobs.screen import screen_readings
from compliance.model.flags import Flag, FlaggedSpan, Reason
from compliance.model.periods import to_us
from compliance.records import flags, readings
from compliance.records import tables as t

WHY = "the probe lay dry, see the photo"
FILL = {
    "correction": "INSERT INTO correction (channel_id, read_at, version, quality, reason, by)"
    " VALUES (1, now(), 1, 0, 'r', 'b')",
    "act": "INSERT INTO act (subject, verb, reason, detail) VALUES ('s', 'v', 'r', '{}')",
}
PNG = b"\x89PNG of a dry probe"


@pytest.fixture
def judged(town):
    """The town with its readings judged by the program itself."""
    with town.engine.begin() as db:
        ids = [town.channel, town.others_channel]
        for name in ("detection", "exceedance"):
            db.execute(t.metadata.tables[name].delete())
        readings.mark_dirty(
            db, ids, since=town.at - timedelta(hours=3), until=town.at + STEP, why="test"
        )
    judge(town)
    return town


STEP = timedelta(seconds=10)


def judge(town) -> None:
    evaluate(town.engine, now=town.at + timedelta(hours=1), release="test")


def typed(at) -> str:
    return at.astimezone(ZoneInfo("America/Chicago")).isoformat()


def form(town, verdict: str = "invalid", **more: str) -> dict[str, str]:
    start = town.at - timedelta(minutes=41)
    return {
        "channel": str(town.channel),
        "verdict": verdict,
        "since": typed(start),
        "until": typed(start + timedelta(minutes=7)),
        "reason": WHY,
        **more,
    }


def hidden(text: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text)
    return {name: value.replace("&#43;", "+") for name, value in found}


def standing(town) -> list[str]:
    with town.engine.connect() as db:
        e = t.exceedance.c
        return list(
            db.scalars(
                select(e.rule_id).where(e.superseded_at.is_(None), e.channel_id == town.channel)
            )
        )


def count(town, table: str) -> int:
    with town.engine.connect() as db:
        return db.scalar(select(func.count()).select_from(t.metadata.tables[table])) or 0


def test_an_exclusion_is_looked_at_then_saved_then_told_everywhere(as_person, judged):
    client, where = as_person("ana"), f"/points/{judged.point}/determinations"
    assert standing(judged) == ["prescott.ph"]
    before = count(judged, "determination")
    checked = client.post(
        f"{where}/check", data=form(judged), files={"file": ("probe.png", PNG, "image/png")}
    )
    assert checked.status_code == 200
    assert "This removes 1 finding" in checked.text and "No longer found" in checked.text
    assert "<strong>42</strong>" in checked.text and "42 of them now, 0 then" in checked.text
    assert count(judged, "determination") == before, "looking writes nothing"
    saved = client.post(where, data=hidden(checked.text))
    assert (saved.status_code, saved.headers["location"]) == (303, where)
    judge(judged)
    assert standing(judged) == []
    listed = client.get(where).text
    assert (
        WHY in listed and "probe.png" in listed and "Ana Ruiz, Pretreatment coordinator" in listed
    )
    number = max(int(n) for n in re.findall(r"Determination (\d+)", listed))
    file = client.get(f"/determinations/{number}/evidence")
    assert file.content == PNG
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''probe.png"
    with judged.engine.connect() as db:
        detection = db.scalar(select(t.detection.c.id).order_by(t.detection.c.id).limit(1))
    for login in ("ana", "jo"):
        seen = as_person(login).get(f"/detections/{detection}").text
        assert "Withdrawn" in seen and f"determination {number} by Ana Ruiz" in seen and WHY in seen
    opening = {"detection": detection, "reason": "it was below 6.0 all the same"}
    refused = as_person("ana").post("/api/v1/violations", json=opening)
    assert refused.status_code == 403 and "was withdrawn" in refused.json()["detail"]
    client = as_person("jo")
    assert WHY in client.get(f"/points/{judged.point}?range=24h").text
    chart = client.get(f"/api/v1/points/{judged.point}/readings").json()
    assert [(one["verdict"], one["excludes"]) for one in chart["determinations"]] == [
        ("invalid", True)
    ]
    assert "42 of them determined not to count" in chart["says"]
    assert client.get(f"/determinations/{number}/evidence").status_code == 200
    assert as_person("kim").get(f"/determinations/{number}/evidence").status_code == 404


def test_what_changed_since_it_was_looked_at_is_shown_again(as_person, judged):
    client, where = as_person("ana"), f"/points/{judged.point}/determinations"
    sent = hidden(client.post(f"{where}/check", data=form(judged)).text)
    judged_before = count(judged, "determination")
    with judged.engine.begin() as db:
        db.execute(
            t.reading.delete().where(
                t.reading.c.channel_id == judged.channel,
                t.reading.c.read_at == judged.at - 39 * timedelta(minutes=1),
            )
        )
    answer = client.post(where, data=sent)
    assert answer.status_code == 409 and "Look again" in answer.text
    assert count(judged, "determination") == judged_before
    assert client.post(where, data=hidden(answer.text)).status_code == 303
    assert count(judged, "determination") == judged_before + 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reason": "no"}, "at least 8 characters"),
        ({"verdict": "fine"}, "Choose what the readings are"),
        ({"channel": "99999"}, "Choose the channel"),
        ({"since": "soon"}, "expected a date and a time"),
        ({"until": "2020-01-01T00:00"}, "ends before it begins"),
        ({"until": "2199-01-01T00:00"}, "2199"),
        ({"since": "2026-03-08T02:30"}, "does not exist at the plant"),
    ],
)
def test_a_fault_of_the_form_stands_next_to_its_field(as_person, town, changes, says):
    client, where = as_person("ana"), f"/points/{town.point}/determinations"
    answer = client.post(f"{where}/check", data=form(town, **changes))
    assert answer.status_code == 422
    assert says in answer.text and 'class="wrong"' in answer.text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("probe.png", b"MZ no picture"),
        ("probe.exe", b"MZ"),
        ("notes.txt", b"a\x00b"),
        ("x.pdf", b""),
    ],
)
def test_a_file_of_another_kind_is_refused(as_person, town, name, content):
    client, where = as_person("ana"), f"/points/{town.point}/determinations"
    answer = client.post(f"{where}/check", data=form(town), files={"file": (name, content)})
    assert answer.status_code == 422 and name in answer.text


def test_a_program_determines_once_whatever_it_sends_again(as_person, judged):
    client, where = as_person("dan"), f"/api/v1/channels/{judged.channel}/determinations"
    sent = {k: v for k, v in form(judged).items() if k != "channel"}
    foreseen = client.get(
        f"{where}/foreseen", params={k: sent[k] for k in ("since", "until", "verdict")}
    ).json()
    assert foreseen["removes_exceedance"] is True and foreseen["readings"] == 42
    before = count(judged, "determination")
    headers = {"idempotency-key": "one"}
    answers = [
        client.post(where, data=sent, files={"file": ("p.png", PNG)}, headers=headers)
        for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["foreseen"] == foreseen
    assert count(judged, "determination") == before + 1
    listed = client.get(where).json()["determinations"]
    assert (
        listed[0]["verdict"] == "invalid" and listed[0]["by"] == "Dan Moe, Director of Public Works"
    )
    assert client.get(listed[0]["evidence"]["href"]).content == PNG
    other = client.post(where, data={**sent, "verdict": "valid"}, headers=headers)
    assert other.status_code in (400, 409, 422) and "used before" in other.json()["detail"]


def test_a_table_of_corrections_is_taken_whole_or_not_at_all(as_person, judged):
    client, where = as_person("ana"), f"/points/{judged.point}/corrections"
    start = judged.at - timedelta(minutes=40)
    good = [start + n * STEP for n in range(30)]
    lines = ["at,value", *(f"{at.isoformat()},6.5" for at in good)]
    bad = [
        *lines,
        "2020-01-01T00:00:00Z,7",
        f"{good[0].isoformat()},7",
        f"{good[1].isoformat()}x,15",
    ]

    def sent(rows: list[str]):
        data = {"channel": str(judged.channel), "reason": "the buffer was wrong"}
        return client.post(f"{where}/check", data=data, files={"file": ("c.csv", "\n".join(rows))})

    refused = sent(bad)
    assert refused.status_code == 422 and "nothing was taken" in refused.text
    for said in ("Row 32, at", "Row 33, at", "Row 34, at", "Row 34, value", "from 0 to 14"):
        assert said in refused.text, said
    checked = sent(lines)
    assert checked.status_code == 200 and "This removes 1 finding" in checked.text
    assert count(judged, "correction") == 0
    assert client.post(where, data=hidden(checked.text)).status_code == 303
    assert count(judged, "correction") == 30
    judge(judged)
    assert standing(judged) == []
    page = client.get(f"/points/{judged.point}?range=24h").text
    assert "Corrected readings" in page and "the buffer was wrong" in page
    chart = client.get(f"/api/v1/points/{judged.point}/readings").json()
    assert len(chart["corrected"]) == 30
    assert (chart["corrected"][0]["first"], chart["corrected"][0]["value"]) == (5.2, 6.5)
    assert "first read 5.20" in chart["corrected"][0]["says"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("when,what\n1,2", "expected at, value"),
        ("at,value", "no row below its heading"),
        ("", "has the columns none"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ('at,value\n"2026', "save it as CSV"),
    ],
)
def test_what_is_no_table_of_corrections_is_refused(as_person, town, content, says):
    data = {"channel": str(town.channel), "reason": WHY}
    answer = as_person("ana").post(
        f"/points/{town.point}/corrections/check", data=data, files={"file": ("c.csv", content)}
    )
    assert answer.status_code == 422 and says in answer.text


def test_a_program_corrects_readings_and_is_told_what_is_wrong_with_them(as_person, judged):
    client, where = as_person("ana"), f"/api/v1/channels/{judged.channel}/corrections"
    at = (judged.at - timedelta(minutes=40)).isoformat()
    wrong = (
        ([{"at": at, "value": 15}], "corrections[0].value is 15"),
        ([{"at": at[:19], "value": 7}], "has no offset"),
        ([{"at": at, "value": None, "quality": "good"}], "expected null with missing"),
        ([{"at": at}], "expected null with missing"),
        ([{"at": at, "value": True}], "value is True"),
        ([{"at": at, "value": 7}, {"at": at, "value": 8}], "stands in it twice"),
        ([{"at": "2020-01-01T00:00:00Z", "value": 7}], "only a reading that is stored"),
        ([], "corrections"),
    )
    for sent, says in wrong:
        answer = client.post(where, json={"reason": WHY, "corrections": sent})
        assert answer.status_code == 422 and says in answer.json()["detail"], answer.json()
    assert count(judged, "correction") == 0
    body = {"reason": WHY, "corrections": [{"at": at, "value": None, "quality": "missing"}]}
    headers = {"idempotency-key": "k"}
    with ThreadPoolExecutor(4) as at_once:
        sent = [at_once.submit(client.post, where, json=body, headers=headers) for _ in range(4)]
    answers = [one.result() for one in sent]
    assert [one.status_code for one in answers] == [201] * 4
    assert answers[0].json()["corrected"] == 1 == count(judged, "correction")
    (one,) = client.get(where).json()["corrections"]
    assert (one["first"], one["value"], one["quality"]) == (5.2, None, "missing")


@pytest.mark.parametrize("kind", ["corrections", "determinations"])
def test_one_preview_saves_once_however_often_it_is_sent_at_once(as_person, judged, kind):
    client, code = as_person("ana"), judged.point
    if kind == "determinations":
        first = client.post(f"/points/{code}/{kind}/check", data=form(judged))
    else:
        table = f"at,value\n{(judged.at - timedelta(minutes=40)).isoformat()},7.1\n".encode()
        first = client.post(
            f"/points/{code}/{kind}/check",
            data={"channel": str(judged.channel), "reason": WHY},
            files={"file": ("fixed.csv", table, "text/csv")},
        )
    fields, before = hidden(first.text), count(judged, kind[:-1])
    assert fields["seen"]
    with ThreadPoolExecutor(3) as at_once:
        sent = [
            at_once.submit(
                client.post, f"/points/{code}/{kind}", data=fields, follow_redirects=False
            )
            for _ in range(3)
        ]
    assert sorted(one.result().status_code for one in sent) == [303, 409, 409]
    assert count(judged, kind[:-1]) == before + 1


@pytest.mark.parametrize("table", ["correction", "determination", "act"])
def test_what_people_said_can_not_be_changed_by_sql(judged, table):
    for statement in (f"UPDATE {table} SET reason = 'x'", f"TRUNCATE {table} CASCADE"):
        with judged.engine.connect() as db, pytest.raises(IntegrityError, match="stays on record"):
            if table != "determination":
                db.execute(text(FILL[table]))
            db.execute(text(statement))


def test_what_screening_doubts_is_told_on_chart_instrument_and_finding(as_person, judged):
    start = to_us(judged.at - timedelta(minutes=38))
    span = FlaggedSpan(
        since_us=start, until_us=start + 60_000_000, flag=Flag.SUSPECT, reason=Reason.SPIKE,
        readings=7,
    )  # fmt: skip
    with judged.engine.begin() as db:
        day = timedelta(days=1)
        flags.replace(
            db, judged.channel, [span], since=judged.at - day, until=judged.at, ruleset="program-1"
        )
        readings.mark_dirty(
            db, [judged.channel], since=judged.at - day, until=judged.at, why="screened"
        )
    judge(judged)
    client = as_person("jo")
    chart = client.get(f"/api/v1/points/{judged.point}/readings").json()
    (flag,) = chart["flags"]
    assert (flag["says"], flag["readings"]) == ("a spike against both neighbours", 7)
    point = client.get(f"/points/{judged.point}?range=24h").text
    instrument = client.get(f"/instruments/{judged.instrument}").text
    with judged.engine.connect() as db:
        detection = db.scalar(select(t.detection.c.id).order_by(t.detection.c.id).limit(1))
        mine = t.exceedance.c.channel_id == judged.channel
        evidence = db.scalar(select(t.exceedance.c.evidence).where(mine))
    finding = client.get(f"/detections/{detection}").text
    for shown in (point, instrument, finding):
        assert "a spike against both neighbours" in shown and "program-1" in shown
        assert "Doubtful" in shown
    assert "for review" in finding
    assert evidence["screening"][0]["says"] == "a spike against both neighbours"


def test_exclusions_stand_side_by_side(as_person, judged):
    client = as_person("ana")
    where = f"/points/{judged.point}/determinations"
    client.post(where, data=hidden(client.post(f"{where}/check", data=form(judged)).text))
    judge(judged)
    zone = ZoneInfo("America/Chicago")
    ends = (judged.at - timedelta(hours=3), judged.at)
    inside, beyond = 0, 0
    for month in sorted({f"{at.astimezone(zone):%Y-%m}" for at in ends}):  # it may just have begun
        address = f"/api/v1/points/{judged.point}/exclusions"
        told = client.get(address, params={"month": month}).json()
        (ph,) = [one for one in told["channels"] if one["parameter"] == "ph"]
        assert ph["beyond"]["share"] in ("1.000000", None)
        inside += ph["inside"]["by"]["determination"]["readings"]
        beyond += ph["beyond"]["by"]["determination"]["readings"]
    assert (inside, beyond) == (12, 30)
    page = client.get(f"/points/{judged.point}?range=24h").text
    assert "Left out in" in page and "By a determination" in page
    assert "may not depend on its value" in page
    assert (
        client.get(
            f"/api/v1/points/{judged.point}/exclusions", params={"month": "2026-13"}
        ).status_code
        == 422
    )


def test_only_addresses_that_take_files_take_much():
    assert largest("/points/MH-1/determinations/check") == largest("/points/a/corrections") > 5e6
    assert largest("/api/v1/channels/5/corrections") > 5e6
    assert largest("/points/MH-1/volume") == largest("/a/points/b/corrections") == 100_000


def test_screening_again_leaves_findings_alone(as_person, judged):
    screen_readings(judged.engine)
    judge(judged)
    assert standing(judged) == ["prescott.ph"]
