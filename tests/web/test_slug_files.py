"""The file of a possible slug: what it shows, who may note and decide, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from sqlalchemy import select, text

from compliance.model.findings import Authority, Exceedance, Kind, Side
from compliance.model.parameters import Parameter
from compliance.model.units import Unit
from compliance.records import findings
from compliance.records import tables as t

OURS, THEIRS = "c" * 24, "d" * 24
SEEN = "Lift station 4 stood at 2.1 m from 03:10 to 03:40, read by Olga Berg"


def fact(town, key: str, *, rule: str = "monona.slug") -> Exceedance:
    starts = town.at - timedelta(minutes=40)
    return Exceedance(
        id=key,
        rule_id=rule,
        effective=date(2017, 1, 1),
        kind=Kind.POSSIBLE_SLUG,
        parameter=Parameter.FLOW,
        unit=Unit.GPM,
        side=Side.ABOVE,
        starts_at=starts,
        ends_at=starts + timedelta(minutes=20),
        seconds=1200,
        seconds_beyond=1200,
        runs=1,
        worst="230",
        worst_at=starts + timedelta(minutes=3),
        limit="200.00",
        readings=120,
        open_ended=False,
        review=False,
        settled=True,
        citation="Definitions, slug load",
        says="Screening.",
        authority=Authority.PROGRAM,
        working=("230 ÷ 40.00 = 5.75 times the mean",),
    )


@pytest.fixture
def slugs(town):
    with town.engine.begin() as db:
        for key, channel in ((OURS, town.channel), (THEIRS, town.others_channel)):
            point = db.scalar(
                select(t.channel.c.monitoring_point_id).where(t.channel.c.id == channel)
            )
            findings.put(
                db, fact(town, key), point_id=point, channel_id=channel, evidence={}, release="x"
            )
    return town


def rows(town, what: str) -> list[tuple[object, ...]]:
    with town.engine.connect() as db:
        return [tuple(row) for row in db.execute(text(what))]


def met(**other: object) -> dict[str, object]:
    return {
        "decision": "slug",
        "reason": "The lift station surcharged when it arrived",
        "element": ["interference", "plugging", "surcharging"],
        "happened": ["no", "no", "yes"],
        "saw": ["", "", SEEN],
        **other,
    }


def test_a_file_shows_plot_clocks_and_who_owes_them(as_person, slugs):
    page = as_person("ana").get(f"/slugs/{OURS}").text
    assert "Possible slug: flow above 200.00 gpm" in page
    assert "Would be owed by Acme Plating if this was a slug" in page
    assert "Call the treatment works at once" in page
    assert 'data-parameter="ph"' in page
    assert "Did it surcharge the sewer?" in page
    assert "a violation" not in page.lower().replace("nothing here is a violation", "")


def test_a_slug_needs_every_element_answered(as_person, slugs):
    client = as_person("ana")
    answer = client.post(f"/slugs/{OURS}", data=met(happened=["no", "", "yes"]))
    assert answer.status_code == 422
    assert "plugging: not answered; expected yes, no or unknown" in answer.text
    assert 'id="saw_plugging-wrong"' in answer.text
    assert SEEN in answer.text  # what was typed is not lost
    assert rows(slugs, "select * from slug_decision") == []


def test_a_slug_without_an_effect_is_refused(as_person, slugs):
    answer = as_person("ana").post(f"/slugs/{OURS}", data=met(happened=["no", "unknown", "no"]))
    assert answer.status_code == 422
    assert "with none it was no slug: explain it instead" in answer.text


def test_a_yes_says_what_was_seen(as_person, slugs):
    answer = as_person("ana").post(f"/slugs/{OURS}", data=met(saw=["", "", "seen"]))
    assert "does not say what was seen" in answer.text
    assert rows(slugs, "select * from slug_decision") == []


def test_a_person_makes_it_a_slug_and_the_audit_has_it(as_person, slugs):
    client = as_person("dan")
    assert client.post(f"/slugs/{OURS}", data=met()).status_code == 303
    page = client.get(f"/slugs/{OURS}").text
    assert "Found to be a slug" in page
    assert "Owed by Acme Plating" in page
    ((act, detail),) = rows(
        slugs, "select act, detail from audit where subject like 'possible slug%'"
    )
    assert act == "decide a possible slug: slug"
    assert detail["elements"][2] == {"key": "surcharging", "happened": "yes", "saw": SEEN}
    assert client.get("/api/v1/slugs?outcome=slug").json()["slugs"][0]["id"] == OURS


def test_a_later_decision_corrects_and_both_stay(as_person, slugs):
    client = as_person("ana")
    client.post(f"/slugs/{OURS}", data=met())
    explained = {"decision": "explained", "reason": "The level gauge was wrong that night"}
    assert client.post(f"/slugs/{OURS}", data=explained).status_code == 303
    found = client.get(f"/api/v1/slugs/{OURS}").json()
    assert [one["outcome"] for one in found["decisions"]] == ["explained", "slug"]
    assert found["outcome"] == "explained"
    assert not any(one["is_owed"] for one in found["clocks"])


def test_prescott_has_no_definition_and_says_so(as_person, slugs):
    prescott = replace(fact(slugs, "e" * 24, rule="prescott.slug"))
    with slugs.engine.begin() as db:
        findings.put(db, prescott, point_id=1, channel_id=slugs.channel, evidence={}, release="x")
    client = as_person("ana")
    page = client.get(f"/slugs/{'e' * 24}").text
    assert "the definition is missing from the text we hold" in page
    assert "It was a slug" not in page
    answer = client.post(f"/slugs/{'e' * 24}", data=met())
    assert answer.status_code == 422
    assert "is not in the text we hold" in answer.text


def test_a_call_stops_the_clock_of_the_notice(as_person, slugs):
    client = as_person("olga")
    when = (slugs.at - timedelta(minutes=30)).isoformat()
    sent = {"kind": "notice", "happened": when, "words": "Jo Ortiz called: tank 3 ran over"}
    assert client.post(f"/slugs/{OURS}/notes", data=sent).status_code == 303
    clocks = client.get(f"/api/v1/slugs/{OURS}").json()["clocks"]
    assert [one["received_at"] is None for one in clocks] == [False, True]
    assert rows(slugs, "select count(*) from audit where act = 'note on a possible slug'") == [(1,)]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("happened", "soon", "expected a date and a time"),
        ("kind", "gossip", "expected one of notice"),
        ("words", "x", "write at least 8 characters"),
    ],
)
def test_a_bad_note_is_refused_beside_its_field(as_person, slugs, field, value, said):
    sent = {"kind": "phone", "happened": "2026-11-01 08:00", "words": "The crew saw foam"}
    answer = as_person("ana").post(f"/slugs/{OURS}/notes", data={**sent, field: value})
    assert answer.status_code == 422
    assert said in answer.text
    assert f'id="{field}-wrong"' in answer.text


@pytest.mark.parametrize("login", ["jo", "cleo", "olga", "adam"])
def test_only_coordinator_and_director_decide(as_person, slugs, login):
    assert as_person(login).post(f"/slugs/{OURS}", data=met()).status_code == 403
    assert rows(slugs, "select * from slug_decision") == []


def test_the_user_sees_its_own_and_no_other(as_person, slugs):
    client = as_person("jo")
    assert client.get(f"/slugs/{OURS}").status_code == 200
    for path in (f"/slugs/{THEIRS}", f"/api/v1/slugs/{THEIRS}"):
        assert client.get(path).status_code == 404
    assert THEIRS not in client.get("/slugs").text
    assert OURS in client.get("/slugs").text


def test_nobody_notes_or_decides_on_anothers_event(as_person, slugs):
    client = as_person("jo")
    for path in (f"/slugs/{THEIRS}", f"/slugs/{THEIRS}/notes"):
        assert client.post(path, data=met(kind="phone")).status_code == 404
    assert rows(slugs, "select * from slug_note") == []
