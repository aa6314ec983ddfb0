"""Commissioning in a real browser, wide and narrow, with values that a worker reads meanwhile."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page
from sqlalchemy import Engine

from compliance.model.endpoints import endpoint
from compliance.records import maps, questions
from compliance.records import tables as t
from compliance.records.questions import Asks, Question
from tests.support.browsing import overflow, sign_in
from tests.support.polling import entry, mapped

MAP = "eh-liquiline-cm44x"
VALUES = [
    {"order": order, "value": value, "text": "", "quality": "good", "reason": ""}
    for order, value in (("ABCD", "-1.2E-11"), ("CDAB", "7.02"), ("BADC", None), ("DCBA", "3E+9"))
]
PH = {"name": "ph", "words": ["0xA3D7", "0x40E0"], "problem": "", "values": VALUES}
WARM = {
    "name": "temperature",
    "words": ["0x00D5"],
    "problem": "",
    "values": [VALUES[1] | {"order": None, "value": "21.3"}],
}


@contextmanager
def answering(engine: Engine) -> Iterator[None]:
    """As if a worker read the instrument: the same words each time."""
    done = threading.Event()

    def work() -> None:
        while not done.wait(0.1):
            with engine.begin() as db:
                asked = questions.take(db, "field")
                if asked is not None:
                    questions.answer(db, asked.id, content=said(asked))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def said(asked: Question) -> dict[str, object]:
    assert endpoint(asked.gateway.host, asked.gateway.port, asked.gateway.transport)
    if asked.asks is Asks.SCAN:
        return {"units": [{"unit": 3, "says": "holding register 0 is 7"}], "looked_to": 10}
    return {"entries": [PH, WARM]}


@pytest.mark.browser
def test_an_instrument_is_commissioned_in_a_browser(tab: Page, address: str, town) -> None:
    found = mapped(
        entry("ph", 0, type="float32", order=None, evidence="a forum"),
        entry("temperature", 4, scale="0.1", unit="degC"),
        name=MAP,
    )
    with town.engine.begin() as db:
        plain = maps.content(found)
        maps.publish(db, name=MAP, sha256=maps.sha256(found), content=plain, published_by="w")
        db.execute(t.counting.delete())
    sign_in(tab, address, "adam")
    with answering(town.engine):
        tab.goto(f"{address}/instruments/new")
        fits(tab)
        for label, typed in (("Name", "mh-9"), ("Host or address", "10.0.0.9")):
            tab.get_by_label(label).first.fill(typed)
        tab.get_by_role("button", name="Save and go on").click()
        tab.get_by_role("button", name="Scan").click()
        tab.get_by_text("Unit 3").wait_for()
        fits(tab)
        tab.get_by_label("Monitoring point").select_option("MH-1")
        tab.get_by_label("Register map", exact=False).first.select_option(MAP)
        tab.get_by_role("button", name="Save and go on").click()
        for name, parameter, unit in (
            ("ph", "ph", "s.u."),
            ("temperature", "temperature", "degC"),
        ):
            form = tab.locator("details", has=tab.locator("#entry"))
            if not form.evaluate("one => one.open"):
                form.locator("summary").click()
            tab.locator("#entry").select_option(name)
            proposed = tab.locator("#parameter, #channel_unit").evaluate_all(
                "all => all.map((one) => one.value)"
            )
            assert proposed == [parameter, unit]
            tab.get_by_role("button", name="Save the channel").click()
            tab.get_by_text(f"{name} is ").first.wait_for()
        tab.get_by_text(re.compile(r"Read \d\d:\d\d:\d\d C[SD]T by .*again every")).wait_for()
        tab.locator("[data-values]", has_text="7.02").wait_for()
        fits(tab)
        tab.get_by_label("ph in").fill("7.31")
        tab.get_by_role("button", name="Compare").click()
        tab.get_by_text("the display shows 7.31").first.wait_for()
        fits(tab)
        tab.locator("[data-values]", has_text="7.02").wait_for()
        tab.get_by_label("ph in").fill("7.02")
        tab.get_by_role("button", name="Compare").click()
        tab.get_by_text("CDAB agrees").wait_for()
        for label, typed in (
            ("Method of ph", "EPA 150.2"), ("Method of temperature", "SM 2550 B"),
            ("Approved by", "Dan Moe, Director"), ("Document", "letter 7"),
        ):  # fmt: skip
            tab.get_by_label(label).fill(typed)
        tab.get_by_label("Approved on").fill("2026-03-01")
        fits(tab)
        tab.get_by_role("button", name="Confirm: let it count").click()
        tab.get_by_text("Confirmed by Adam Root").wait_for()
        fits(tab)
    assert tab.locator("[aria-labelledby=channels] .status", has_text="Counts").count() == 2


def fits(tab: Page) -> None:
    """The page scrolls in one direction and has one heading."""
    assert overflow(tab) <= 0, tab.url
    assert tab.locator("h1").count() == 1
