"""What web tests share: a town, somebody signed in, a server, a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
import uvicorn
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page, sync_playwright
from sqlalchemy import Engine

from app.main import create_app
from compliance.settings import Settings
from tests.support.browsing import ARGUMENTS, CHROMIUM, WIDTHS
from tests.support.commission import published
from tests.support.town import PASSWORD, Town, build


@pytest.fixture
def town(engine: Engine) -> Town:
    """The town in a database of its own."""
    return build(engine, datetime.now(UTC))


@pytest.fixture
def page(town: Town) -> str:
    """The page on which the town's first instrument is commissioned."""
    return published(town)


@pytest.fixture
def settings() -> Settings:
    """Settings of a web process that may deliver to this machine."""
    return Settings.model_validate(
        {
            "PRETREAT_BASE_URL": "http://testserver",
            "PRETREAT_WEBHOOK_ALLOW": "127.0.0.0/8",
            "PRETREAT_FIELD_ALLOW": "127.0.0.0/8,10.0.0.0/8",
        }
    )


@pytest.fixture
def visitor(town: Town, settings: Settings) -> Iterator[TestClient]:
    """A browser that is not signed in and follows no redirects."""
    with TestClient(create_app(settings, town.engine), follow_redirects=False) as client:
        yield client


SignIn = Callable[[str], TestClient]


@pytest.fixture
def as_person(visitor: TestClient) -> SignIn:
    """Sign the browser in as somebody, by sign-in name."""

    def sign_in(login: str) -> TestClient:
        answer = visitor.post("/signin", data={"login": login, "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        return visitor

    return sign_in


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
def tab(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    """A tab of one width; whatever it complains of fails the test.

    It is closed before the server at ``address``, which it may still be asking.
    """
    assert address
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    made = context.new_page()
    complaints: list[str] = []
    made.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    context.close()
    assert complaints == []
