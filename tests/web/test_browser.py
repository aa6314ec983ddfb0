"""The pages in a real browser, wide and narrow; and the stream of live facts over a real socket."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import insert, select, text

from compliance.records import tables as t
from tests.support.browsing import PASSWORD, overflow, sign_in

VENDOR = Path(__file__).parents[2] / "app" / "static" / "vendor" / "uplot" / "uPlot.iife.min.js"
LAB = (
    "Sample,Point,Collected,Parameter,Result,Unit\n"
    "L-1,MH-1,2026-11-20 08:00,TSS,210,mg/L\nL-2,MH-1,2026-11-21 08:00,TSS,many,mg/L\n"
)


@pytest.mark.browser
def test_no_page_scrolls_sideways_or_complains(tab, address, town):
    sign_in(tab, address, "ana")
    for path in (
        "/",
        "/live",
        f"/points/{town.point}",
        "/detections",
        f"/detections/{town.detection}",
        "/violations",
        "/upload",
        "/bills",
        f"/bills/{town.bill}",
        "/webhooks",
        "/instruments",
        f"/instruments/{town.instrument}",
        f"/instruments/{town.instrument}/windows",
        f"/instruments/{town.instrument}/calibrations",
        "/health",
        "/api/docs",
    ):
        tab.goto(address + path)
        assert overflow(tab) <= 0, path
        assert tab.locator("h1").count() == 1, path


@pytest.mark.browser
def test_a_coordinator_opens_a_violation_from_the_board(tab, address):
    sign_in(tab, address, "ana")
    tab.get_by_role("link", name="pH below 6.0 for 5 min").last.click()
    tab.get_by_label("Reason").fill("The acid tank overflowed; confirmed by telephone.")
    tab.get_by_role("button", name="Open violation").click()
    assert tab.locator("h1").inner_text().startswith("V-")
    assert overflow(tab) <= 0


@pytest.mark.browser
def test_a_row_fault_is_named_and_the_good_row_is_accepted(tab, address):
    sign_in(tab, address, "jo")
    tab.get_by_role("link", name="Upload results").click()
    tab.get_by_label("File").set_input_files(
        {"name": "lab.csv", "mimeType": "text/csv", "buffer": LAB.encode()}
    )
    tab.get_by_role("button", name="Check the file").click()
    assert "Row 3" in tab.get_by_role("alert").inner_text()
    tab.get_by_role("button", name="Accept the 1 good row").click()
    assert "1 of 2 rows" in tab.get_by_role("main").inner_text()
    assert overflow(tab) <= 0


@pytest.mark.browser
def test_the_arrow_keys_read_the_chart_aloud(tab, address, town):
    assert VENDOR.exists(), "run make setup: the chart library is not in app/static/vendor"
    sign_in(tab, address, "ana")
    tab.goto(f"{address}/points/{town.point}?parameter=ph&range=1h")
    tab.locator("figure.drawn").wait_for()
    tab.locator(".plot").focus()
    tab.keyboard.press("ArrowLeft")
    readout = tab.locator(".readout").inner_text()
    assert "CST" in readout or "CDT" in readout
    assert "7." in readout


STRIP_COLUMNS = """() => {
  const canvas = document.querySelector(".plot canvas"), high = Math.round(8 * devicePixelRatio);
  const run = getComputedStyle(document.documentElement).getPropertyValue("--run").trim();
  const wanted = [1, 3, 5].map((at) => parseInt(run.slice(at, at + 2), 16));
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4)
    if (wanted.every((value, n) => Math.abs(data[i + n] - value) < 24)) found.add((i / 4) % width);
  return found.size;
}"""


@pytest.mark.browser
def test_an_excursion_shorter_than_a_pixel_is_seen_in_the_strip(tab, address, town):
    sign_in(tab, address, "ana")
    tab.goto(f"{address}/points/{town.point}?parameter=ph&range=90d")
    tab.locator("figure.drawn").wait_for()
    tab.wait_for_timeout(300)
    assert tab.evaluate(STRIP_COLUMNS) >= 2  # three pixels wide; its edges may be soft


@pytest.mark.browser
def test_an_excursion_of_this_very_moment_is_seen_at_the_right_edge(tab, address, town):
    sign_in(tab, address, "ana")
    with town.engine.begin() as db:
        now = datetime.now(UTC)
        fact = t.exceedance.update().values(starts_at=now - timedelta(seconds=4), ends_at=now)
        db.execute(fact)
    tab.goto(f"{address}/points/{town.point}?parameter=ph&range=24h")
    tab.locator("figure.drawn").wait_for()
    tab.wait_for_timeout(300)
    assert tab.evaluate(STRIP_COLUMNS) >= 2


@pytest.mark.browser
def test_an_open_chart_takes_up_new_readings_and_announces_an_excursion(tab, address, town):
    sign_in(tab, address, "ana")
    tab.goto(f"{address}/points/{town.point}?parameter=ph&range=1h")
    caption = tab.locator("figure.drawn figcaption")
    caption.wait_for()
    assert "1 excursion in this time" in caption.inner_text()
    with town.engine.begin() as db:
        fact = dict(db.execute(select(t.exceedance).limit(1)).mappings().one())
        fact.update(
            id="d" * 24,
            starts_at=town.at - timedelta(seconds=20),
            ends_at=town.at,
            settled=False,
            open_ended=True,
        )
        db.execute(insert(t.exceedance).values(**fact))
    tab.get_by_role("link", name="1 new – show").wait_for()
    assert "2 excursions in this time" in caption.inner_text()


@pytest.mark.browser
def test_a_new_reading_and_a_new_detection_reach_an_open_board(tab, address, town):
    sign_in(tab, address, "ana")
    tab.wait_for_timeout(1500)
    with town.engine.begin() as db:
        channel = db.scalar(text("SELECT min(id) FROM channel WHERE parameter = 'ph'"))
        db.execute(
            insert(t.reading).values(
                channel_id=channel, read_at=text("now()"), value=6.66, quality=0, offset_ms=0,
                batch_id=2,
            )
        )  # fmt: skip
        db.execute(text("UPDATE detection SET state = 'explained' WHERE id = :id"),
                   {"id": town.others_detection})  # fmt: skip
        db.execute(text("NOTIFY pretreat_dirty"))
        db.execute(text("NOTIFY pretreat_outbox"))
    tab.locator(f'[data-channel="{channel}"] [data-shown]', has_text="6.66").wait_for()
    tab.get_by_role("link", name="Decided meanwhile – show").wait_for()


def test_the_stream_tells_a_user_only_of_his_own_channels(address, town):
    with httpx2.Client(base_url=address, trust_env=False) as client:
        client.post("/signin", data={"login": "jo", "password": PASSWORD})
        with client.stream("GET", "/api/v1/live") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.iter_lines()
            first = next(line for line in lines if line.startswith("data:"))
    assert f'"point": "{town.point}"' in first or f'"point":"{town.point}"' in first
    assert town.others_point not in first


def test_the_stream_is_closed_to_strangers(address):
    with httpx2.Client(base_url=address, trust_env=False) as client:
        assert client.get("/api/v1/live").status_code == 401
