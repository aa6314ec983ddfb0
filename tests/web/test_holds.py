"""The page of records: holds are placed and lifted by those who may, and are in the audit log."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import select

from compliance.model.keeping import Line, Schedule
from compliance.model.periods import Window
from compliance.records import audit, holds, schedules, sites
from compliance.records import tables as t
from tests.support.keeping import destroyed

REASON = "Case 26-CV-118, City against Acme"


def placed(client, **form):
    return client.post("/holds", data={"over": "city", "reason": REASON, **form})


def acts(town) -> list[tuple[str, str, str]]:
    with town.engine.connect() as db:
        return [(one.by, one.act, one.subject) for one in audit.entries(db)]


def test_a_hold_is_placed_seen_and_lifted_and_each_act_is_in_the_log(as_person, town):
    client = as_person("ana")
    point = f'<option value="point-{_point(town)}">MH-1, Acme Plating</option>'
    assert point in client.get("/holds").text
    answer = placed(client, over=f"point-{_point(town)}", since="2025-11-02", until="2026-03-01")
    assert (answer.status_code, answer.headers["location"]) == (303, "/holds")
    page = client.get("/holds").text
    assert "Hold 1" in page and "point MH-1, from 2 Nov 2025 to 1 Mar 2026" in page
    assert f"{REASON}<small>Placed by Ana Ruiz, Pretreatment coordinator" in page
    (told,) = client.get("/api/v1/holds").json()["holds"]
    assert (told["from"], told["to"]) == (
        "2025-11-02T05:00:00+00:00",  # the night when clocks go back: its day begins an hour early
        "2026-03-02T06:00:00+00:00",
    )
    assert client.post("/holds/1/lift", data={"reason": "settled out of court"}).status_code == 303
    page = client.get("/holds").text
    assert "Nothing is held." in page and "settled out of court" in page
    assert client.get("/api/v1/holds").json()["holds"][0]["lifted_why"] == "settled out of court"
    assert acts(town) == [
        ("Ana Ruiz, Pretreatment coordinator", "place a hold", "hold 1"),
        ("Ana Ruiz, Pretreatment coordinator", "lift a hold", "hold 1"),
    ]


def _point(town) -> int:
    with town.engine.connect() as db:
        mine = t.monitoring_point.c.code == town.point
        return int(db.scalar(select(t.monitoring_point.c.id).where(mine)) or 0)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"over": "channel-99"}, "Choose what is held."),
        ({"reason": "because"}, "Write at least 8 characters"),
        ({"since": "soon"}, "Found &#39;soon&#39;, expected a day such as 2026-03-01, or none."),
        ({"until": "9999-12-31"}, "expected a day such as 2026-03-01, or none."),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "It ends before it begins"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_held(as_person, town, form, sentence):
    answer = placed(as_person("dan"), **form)
    assert answer.status_code == 422
    assert sentence in answer.text
    (name,) = form if len(form) == 1 else ("until",)
    assert f'id="{name}-wrong"' in answer.text
    assert acts(town) == []


def test_a_hold_is_lifted_once_and_with_a_reason(as_person, town):
    client = as_person("ana")
    placed(client)
    short = client.post("/holds/1/lift", data={"reason": "ok"})
    assert short.status_code == 422 and 'id="lift-1-wrong"' in short.text
    client.post("/holds/1/lift", data={"reason": "settled out of court"})
    again = client.post("/holds/1/lift", data={"reason": "settled out of court"})
    assert again.status_code == 422
    assert "Hold 1 was lifted by Ana Ruiz, Pretreatment coordinator already." in again.text


@pytest.mark.parametrize("login", ["cleo", "olga", "adam"])
def test_staff_without_that_office_see_holds_and_place_none(as_person, town, login):
    _hold(town)
    client = as_person(login)
    assert '<a href="/holds">' in client.get("/health").text
    page = client.get("/holds")
    assert page.status_code == 200 and "Hold 1" in page.text
    assert '<form method="post" action="/holds' not in page.text
    assert placed(client).status_code == 403
    assert client.post("/holds/1/lift", data={"reason": REASON}).status_code == 403


def test_industrial_users_see_no_holds(as_person, town):
    _hold(town)
    client = as_person("jo")
    assert client.get("/holds").status_code == 403
    assert client.get("/api/v1/holds").status_code == 403
    assert client.post("/holds/1/lift", data={"reason": REASON}).status_code == 404


def _hold(town) -> None:
    with town.engine.begin() as db:
        over = holds.Over(city_id=sites.city(db, "prescott").id)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        holds.place(db, over, since=None, until=None, reason=REASON, by="Dan Moe", at=at)


def test_a_hold_of_another_city_is_neither_seen_nor_lifted(as_person, town):
    with town.engine.begin() as db:
        row = dict(db.execute(select(t.city)).mappings().one())
        row.update(id=row["id"] + 1, slug="monona", name="Monona")
        db.execute(t.city.insert().values(**row))
        at = datetime(2026, 1, 1, tzinfo=UTC)
        over = holds.Over(city_id=row["id"])
        holds.place(db, over, since=None, until=None, reason=REASON, by="Mo", at=at)
    client = as_person("ana")
    assert "Monona" not in client.get("/holds").text
    assert client.get("/api/v1/holds").json() == {"holds": []}
    assert client.post("/holds/1/lift", data={"reason": REASON}).status_code == 404


def test_the_schedule_is_shown_and_its_absence_too(as_person, town):
    client = as_person("cleo")
    assert (
        "Prescott has no records schedule here: nothing of it is destroyed."
        in client.get("/holds").text
    )
    with town.engine.begin() as db:
        line = Line(name="WW-1", years=7, citation="Wis. Stat. § 19.21")
        made = Schedule(adopted_on=date(2026, 11, 3), adopted_by="Common Council", lines=(line,))
        city = sites.city(db, "prescott").id
        schedules.put(db, city, made, file="s.yaml", sha256="0" * 64, by="account ana")
    page = client.get("/holds").text
    assert "Adopted on 3 Nov 2026 by Common Council" in page
    assert "<td>WW-1</td><td>everything</td>" in page and "Wis. Stat. § 19.21" in page


def test_a_chart_of_what_was_destroyed_says_so_and_does_not_call_it_silence(as_person, town):
    """On the page of the point and on those of a finding, to the industrial user too."""
    opening = {"decision": "open", "reason": "Two hours under the limit, no window declared."}
    opened = as_person("ana").post(f"/detections/{town.detection}", data=opening)
    violation = opened.headers["location"]
    assert violation.startswith("/violations/")
    found = (f"/points/{town.point}?parameter=ph", f"/detections/{town.detection}", violation)
    assert "Destroyed" not in "".join(as_person("ana").get(page).text for page in found)
    day = timedelta(days=1)
    span = Window(start=town.at - day, end=town.at + day)
    with town.engine.begin() as db:
        of_it = select(t.exceedance.c.channel_id).order_by(t.exceedance.c.id).limit(1)
        channel = int(db.scalar(of_it) or 0)
    assert destroyed(town.engine, channel, span) == 720
    for login in ("ana", "jo"):
        client = as_person(login)
        for page in found:
            text = client.get(page).text
            assert "720 readings of " in text and "under line WW-1 of the records schedule" in text
            assert "Nothing was read in this time" not in text
    short = client.get(f"/points/{town.point}?parameter=temperature").text
    assert "Destroyed" not in short
