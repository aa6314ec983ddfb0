"""Pages as people read them, and the decisions made on them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import delete, func, select, update

from app.wording import summary
from compliance.records import casefile, maps
from compliance.records import tables as t
from compliance.records.scope import Scope

REASON = "The acid tank overflowed; the operator confirmed it by telephone."
GOOD = "Sample,Point,Collected,Parameter,Result,Unit\nL-1,MH-1,2026-11-20 08:00,TSS,210,mg/L\n"
MIXED = GOOD + 'L-2,MH-1,2026-11-21 08:00,TSS,"1,25",mg/L\n'


def test_the_board_names_what_to_decide_first(as_person, town):
    text = as_person("ana").get("/").text
    assert text.index("To decide") < text.index("Silent instruments")
    assert "pH below 6.0 for 5 min" in text
    assert "Reaches 10 %" in text and "CMAR 2025, part 3" in text


def test_a_board_without_readings_says_that_silence_is_a_fault(as_person, town):
    with town.engine.begin() as db:
        db.execute(delete(t.reading))
        db.execute(update(t.detection).values(state="explained"))
    text = as_person("ana").get("/").text
    assert "That is a fault, not calm" in text
    assert "Nothing waits for a decision" not in text


def test_a_board_with_readings_and_no_finding_says_how_many_were_checked(as_person, town):
    with town.engine.begin() as db:
        db.execute(update(t.detection).values(state="explained"))
    assert "Nothing waits for a decision. 1,440 readings checked." in as_person("ana").get("/").text


def test_a_stale_value_is_never_shown_as_if_it_were_now(as_person, town):
    with town.engine.begin() as db:
        db.execute(update(t.reading).values(read_at=t.reading.c.read_at - timedelta(hours=3)))
    text = as_person("ana").get("/live").text
    assert re.findall(r"<b data-shown>([^<]*)</b>", text) == ["◇"] * 4


def test_an_industrial_user_reads_exceedance_and_is_not_offered_a_decision(as_person, town):
    client = as_person("jo")
    assert "Exceedances, not decided" in client.get("/").text
    assert "Open violation" not in client.get(f"/detections/{town.detection}").text


def test_a_detection_lays_its_evidence_out(as_person, town):
    text = as_person("ana").get(f"/detections/{town.detection}").text
    for evidence in (
        "No discharge with a pH below 6.0",
        "in force since 12 Jun 2017",
        "0x40A6 0x6666",
        "Screening: calibration not current",
        "Permit 42",
        "not yet compared with the display on site",
        "0" * 64,
    ):
        assert evidence in text, evidence


def test_the_instruments_page_says_what_to_verify_on_site(as_person, town):
    entry = {
        "name": "ph", "table": "holding", "address": 10, "printed": "40011", "type": "float32",
        "words": 2, "order": None, "evidence": "library", "verify": True, "note": "",
    }  # fmt: skip
    content = {"vendor": "E+H", "model": "CM44x", "document": "BA01245C", "entries": {"ph": entry}}
    with town.engine.begin() as db:
        maps.publish(
            db, name="eh-liquiline-cm44x", sha256="e" * 64, content=content, published_by="worker"
        )
    client = as_person("ana")
    for where in ("/instruments", f"/detections/{town.detection}"):
        text = client.get(where).text
        assert "BA01245C" in text and "e" * 64 in text
        assert "ph: its word order is not in the manual" in text


def test_opening_a_violation_needs_a_reason_and_leads_to_its_number(as_person, town):
    client = as_person("ana")
    where = f"/detections/{town.detection}"
    refused = client.post(where, data={"decision": "open", "reason": "short"})
    assert refused.status_code == 422 and "There is a problem" in refused.text
    opened = client.post(where, data={"decision": "open", "reason": REASON})
    assert opened.status_code == 303
    text = client.get(opened.headers["location"]).text
    assert REASON in text and "Pretreatment coordinator" in text
    again = client.post(where, data={"decision": "open", "reason": REASON})
    assert again.status_code == 422 and "already opened" in again.text


def test_explaining_leaves_no_violation(as_person, town):
    client = as_person("dan")
    client.post(f"/detections/{town.detection}", data={"decision": "explain", "reason": REASON})
    with town.engine.connect() as db:
        case = casefile.case(db, Scope(city_id=None, industrial_user_id=None), town.detection)
    assert (case.state, case.violation) == ("explained", None)


def test_nothing_is_written_before_the_good_rows_are_accepted(as_person, town):
    client = as_person("jo")
    text = client.post("/upload/check", files={"file": ("lab.csv", MIXED)}).text
    assert "1 good" in text and "Row 3" in text and "1,25" in text
    with town.engine.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.upload)) == 0


def test_accepting_stores_the_good_rows_once_even_when_sent_twice(as_person, town):
    client = as_person("jo")
    text = client.post("/upload/check", files={"file": ("lab.csv", MIXED)}).text
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text))
    first, second = client.post("/upload", data=form), client.post("/upload", data=form)
    assert first.status_code == second.status_code == 201
    assert "1 of 2 rows" in first.text and "nothing was stored twice" in second.text
    with town.engine.connect() as db:
        assert db.scalar(select(func.count()).select_from(t.result)) == 1


def test_results_cannot_be_sent_for_another_user(as_person, town):
    client = as_person("jo")
    text = client.post("/upload/check", files={"file": ("lab.csv", GOOD)}).text
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text))
    assert client.post("/upload", data={**form, "user": "2"}).status_code == 404


@pytest.mark.parametrize(
    "name", ["../../app/config.py", "..\\..\\x.csv", "lab.csv\u0000.exe", "\u202excod.csv"]
)
def test_a_hostile_file_name_is_only_ever_shown(as_person, name):
    """SEC-07"""
    answer = as_person("jo").post("/upload/check", files={"file": (name, GOOD)})
    assert answer.status_code in (200, 422)
    assert ".." not in answer.text and "\u202e" not in answer.text


def test_a_file_that_is_no_table_is_refused_in_one_sentence(as_person):
    answer = as_person("jo").post("/upload/check", files={"file": ("a.csv", b"\x00\x01\x02")})
    assert answer.status_code == 422 and "There is a problem" in answer.text


def test_each_line_of_a_bill_opens_into_its_working(as_person, town):
    text = as_person("cleo").get(f"/bills/{town.bill}").text
    assert "111.85 kgal × $10.00/kgal = $1118.50" in text
    assert "placeholders" in text and "not adopted" in text
    assert text.count("$1,218.50") == 2


def test_a_summary_says_how_long_the_longest_excursion_was(town):
    with town.engine.connect() as db:
        scope = Scope(city_id=None, industrial_user_id=None)
        cases = casefile.cases(db, scope, point=town.point)
    assert summary("MH-1 pH", cases, "720 read.") == (
        "MH-1 pH: 1 excursion in this time, the longest 5 min (worst 5.20). 720 read."
    )
