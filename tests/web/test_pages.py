"""Pages as people read them, and the decisions made on them."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, func, insert, select, update

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


def test_a_withdrawn_detection_says_so_and_is_not_decided(as_person, town):
    client = as_person("ana")
    where = f"/detections/{town.detection}"
    why = "its readings lie in declared window 3"
    with town.engine.begin() as db:
        wanted = select(t.detection.c.exceedance_id).where(t.detection.c.id == town.detection)
        db.execute(
            update(t.exceedance)
            .where(t.exceedance.c.id == wanted.scalar_subquery())
            .values(superseded_at=town.at, superseded_why=why, settled=False, open_ended=True)
        )
    text = client.get(where).text
    assert why in text and "Withdrawn" in text
    assert "To decide" not in text and "Open violation" not in text
    assert "so far" not in text and "still going on" not in text
    refused = client.post(where, data={"decision": "open", "reason": REASON})
    assert refused.status_code == 422 and "was withdrawn" in refused.text
    told = client.get(f"/api/v1{where}").json()
    assert told["state"] == "withdrawn"
    assert (told["withdrawn"]["why"], told["withdrawn"]["was"]) == (why, "detected")
    assert f'href="{where}"' in client.get("/detections?state=withdrawn").text
    assert f'href="{where}"' not in client.get("/detections").text
    listed = client.get("/api/v1/detections?state=withdrawn").json()["detections"]
    assert [one["detection"] for one in listed] == [town.detection]


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


def test_a_bill_prints_no_idle_digits_and_the_api_keeps_them(as_person, town):
    long = "8488.927580160000000000000000"
    with town.engine.begin() as db:
        db.execute(
            update(t.bill_line).values(quantity=long, sources=["its rate stands in for nitrogen."])
        )
    client = as_person("cleo")
    text = client.get(f"/bills/{town.bill}").text
    assert "8,488.92758… kgal × $10.00" in text
    assert long not in text and "nitrogen.." not in text
    assert client.get(f"/api/v1/bills/{town.bill}").json()["lines"][0]["quantity"] == long


def test_the_mean_of_a_line_can_be_made_again_from_its_samples(as_person, town):
    samples = [
        {"day": "2026-07-09", "sample": "L-1", "point": "MH-1", "mg_l": "300",
         "non_detect": False, "flow_gal": "1000000"},
        {"day": "2026-08-09", "sample": "L-2", "point": "MH-1", "mg_l": "5",
         "non_detect": True, "flow_gal": "200000"},
    ]  # fmt: skip
    with town.engine.begin() as db:
        db.execute(
            update(t.bill_line).where(t.bill_line.c.code == "volume").values(samples=samples)
        )
    client = as_person("cleo")
    text = client.get(f"/bills/{town.bill}").text
    for written in ("9 Jul 2026", "L-1", ">300<", "1,000,000", "&lt;5 (counts as 0)", "200,000"):
        assert written in text, written
    assert client.get(f"/api/v1/bills/{town.bill}").json()["lines"][0]["samples"] == samples


def _screened(db, *, ago: timedelta) -> None:
    """A possible slug that ended some time ago: a fact without a detection."""
    now = datetime.now(UTC)
    row = dict(db.execute(select(t.exceedance).limit(1)).mappings().one())
    changed = {
        "id": "c" * 24, "rule_id": "prescott.slug", "kind": "possible_slug", "side": "above",
        "parameter": "flow", "unit": "gpm",
        "authority": "program", "starts_at": now - ago - timedelta(minutes=45),
        "ends_at": now - ago, "seconds": 2700, "worst": "295.8", "limit": "232.19",
    }  # fmt: skip
    db.execute(insert(t.exceedance).values(**{**row, **changed}))


@pytest.mark.parametrize(
    ("ago", "heading"),
    [
        (timedelta(minutes=5), "Possible slugs <span"),
        (timedelta(days=5), "Possible slugs in the last 7 days"),
        (timedelta(days=9), None),
    ],
)
def test_possible_slugs_stand_on_the_board_those_of_a_week_where_none_was_overnight(
    as_person, town, ago, heading
):
    with town.engine.begin() as db:
        _screened(db, ago=ago)
    text = as_person("ana").get("/").text
    assert ("Possible slugs" in text) == (heading is not None)
    if heading:
        assert heading in text and "since" in text[text.index(heading) :]
        assert "Possible slug: flow above 232.19 gpm for 45 min" in text


def test_a_possible_slug_is_seen_only_by_its_own_user(as_person, town):
    with town.engine.begin() as db:
        _screened(db, ago=timedelta(minutes=5))
    assert "Possible slug" not in as_person("kim").get("/").text


def test_a_possible_slug_stands_in_the_chart_as_screening(as_person, town):
    with town.engine.begin() as db:
        _screened(db, ago=timedelta(minutes=5))
    client = as_person("ana")
    text = client.get(f"/points/{town.point}?parameter=ph").text
    assert "2 excursions in this time" in text and "Screening" in text
    said = client.get(f"/api/v1/points/{town.point}/readings?parameter=ph").json()
    assert [one["state"] for one in said["excursions"]] == ["detected", "screening"]
    assert said["excursions"][1]["detection"] is None


def test_the_shares_of_a_user_stand_in_one_table(as_person, town):
    with town.engine.begin() as db:
        row = dict(db.execute(select(t.trigger_fact).limit(1)).mappings().one())
        row.pop("id")
        rule = "prescott.service_agreement.bod5"
        changed = {"rule_id": rule, "state": "below", "share": "4.20"}
        db.execute(insert(t.trigger_fact).values(**{**row, **changed}))
    text = as_person("ana").get("/").text
    assert text.count('<section class="share">') == 1
    names = re.findall(r'<th scope="row">([^<]*)</th><td class="num">[\d.]+ %', text)
    assert names == ["Flow", "BOD₅", "Suspended solids (TSS)"]


def test_a_detection_from_a_laboratory_shows_the_sample_and_not_a_length_of_time(as_person, town):
    content = (
        "Sample,Point,Collected,Type,Parameter,Result,Unit,Method,RL,Lab\n"
        "L-7,MH-1,2026-11-20 08:00,grab,Petroleum oil,31.0,mg/L,EPA 1664B,5.0,Alpha\n"
    )
    client = as_person("jo")
    client.post("/api/v1/results", files={"file": ("november.csv", content)})
    text = client.get("/detections/3").text
    for said in (
        "<strong>31.0 mg/L</strong> of petroleum oil (SGT-HEM)",
        "20 Nov 2026 08:00:00 CST",
        "grab, number <code>L-7</code>; taken by the industrial user",
        "Alpha; method EPA 1664B",
        "reporting limit 5.0 mg/L; detection limit not given",
        "november.csv, row 2",
        hashlib.sha256(content.encode()).hexdigest(),
    ):
        assert said in text, said
    assert "How long" not in text and "Readings" not in text


def test_an_order_that_a_simulator_confirmed_is_called_simulated(as_person, town):
    with town.engine.begin() as db:
        db.execute(
            update(t.instrument).values(
                confirmed_by="demo", confirmed_at=town.at, confirmed_how="simulated: its own order"
            )
        )
    client = as_person("ana")
    for where in (f"/instruments/{town.instrument}", f"/detections/{town.detection}"):
        text = client.get(where).text
        assert "Simulated" in text and "no display was read" in text
        assert "Confirmed" not in text and "compared with the display by" not in text


def test_two_channels_of_one_parameter_have_a_chart_each(as_person, town):
    with town.engine.begin() as db:
        ph = dict(
            db.execute(select(t.channel).where(t.channel.c.parameter == "ph").limit(1))
            .mappings()
            .one()
        )
        ph.pop("id")
        for entry in ("bottle", "sample_count"):
            db.execute(
                insert(t.channel).values(
                    **{**ph, "entry": entry, "parameter": "count", "unit": "count"}
                )
            )
    client = as_person("ana")
    text = client.get("/live").text
    assert "Count · bottle" in text and "Count · sample count" in text
    chart = client.get(f"/points/{town.point}?parameter=count&entry=sample_count").text
    assert "<h1>MH-1 · Count · sample count" in chart
    assert "no limit is in force, nothing is judged" in chart
    assert client.get(f"/points/{town.point}?parameter=count&entry=none").status_code == 404


def test_readings_of_then_are_laid_out_by_the_interval_of_then(as_person, town):
    with town.engine.begin() as db:
        channels = db.scalars(select(t.channel.c.id)).all()
        for channel in channels:
            db.execute(
                insert(t.channel_cadence).values(
                    channel_id=channel, since=town.at, interval_ms=1_000
                )
            )
    text = as_person("ana").get(f"/detections/{town.detection}").text
    table = text[text.index("Readings around the worst") :]
    assert table[: table.index("</table>")].count("<tr") == 12


def test_a_summary_says_how_long_the_longest_excursion_was(town):
    with town.engine.connect() as db:
        scope = Scope(city_id=None, industrial_user_id=None)
        cases = casefile.cases(db, scope, point=town.point)
    assert summary("MH-1 pH", cases, "720 read.") == (
        "MH-1 pH: 1 excursion in this time, the longest 5 min (worst 5.20). 720 read."
    )
