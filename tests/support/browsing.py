"""What tests in a real browser share: how it is started, and what they look at."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
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
