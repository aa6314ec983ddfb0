"""The pages in a real browser, wide and narrow; and the stream of live facts over a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import insert, select, text

from app.main import create_app
from compliance.records import tables as t
from compliance.settings import Settings

CHROMIUM = Path("/usr/bin/chromium")
VENDOR = Path(__file__).parents[2] / "app" / "static" / "vendor" / "uplot" / "uPlot.iife.min.js"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = (1280, 320)
PASSWORD = "correct horse"
LAB = (
    "Sample,Point,Collected,Parameter,Result,Unit\n"
    "L-1,MH-1,2026-11-20 08:00,TSS,210,mg/L\nL-2,MH-1,2026-11-21 08:00,TSS,many,mg/L\n"
)


@pytest.fixture
def address(town) -> Iterator[str]:
    """Where the town is served."""
    app = create_app(Settings.model_validate({}), town.engine)
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    app.state.hub.close()
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(params=WIDTHS)
def tab(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A tab of one width; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    made = context.new_page()
    complaints: list[str] = []
    made.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    context.close()
    assert complaints == []


def sign_in(tab: Page, address: str, login: str) -> None:
    tab.goto(f"{address}/signin")
    tab.get_by_label("Sign-in name").fill(login)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("main").get_by_role("button", name="Sign in").click()
    tab.wait_for_url(f"{address}/")


def overflow(tab: Page) -> int:
    return int(
        tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
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
