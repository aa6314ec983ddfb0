"""Webhooks out: signed over the exact bytes, retried by the table, never led inside."""

from __future__ import annotations

import json
import socketserver
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network

import pytest
from sqlalchemy import select, update
from standardwebhooks import Webhook, WebhookVerificationError

from app import deliver, receiver
from compliance.records import outbox
from compliance.records import tables as t
from compliance.settings import Settings

SECRET = "whsec_" + "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
HERE = (ip_network("127.0.0.0/8"),)


class Target(ThreadingHTTPServer):
    """A receiver that keeps what comes and answers as it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keep)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 204
        self.headers: dict[str, str] = {}
        self.wait = threading.Event()
        self.wait.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Keep(BaseHTTPRequestHandler):
    server: Target

    def do_POST(self) -> None:
        self.server.wait.wait(10)
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append((headers, body))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def target() -> Iterator[Target]:
    server = Target()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.wait.set()
    server.shutdown()
    thread.join()
    server.server_close()


def due_one(engine, url: str, data: dict[str, object] | None = None) -> outbox.Due:
    with engine.begin() as db:
        outbox.add_endpoint(db, url=url, secret=SECRET)
        outbox.put(db, "violation.detected", data or {"detection": 7})
        (one,) = outbox.due(db, now=datetime.now(UTC) + timedelta(seconds=1))
    return one


def until(true: Callable[[], object]) -> None:
    """Wait for something to become true; what never does fails by the caller's next assert."""
    for _ in range(400):
        if true():
            return
        time.sleep(0.025)


def test_the_signature_is_over_the_very_bytes_that_were_sent(engine, target):
    """WHK-01"""
    one = due_one(engine, target.url, {"a": "µg/L", "b": Decimal("1.0"), "c": 1.0})
    attempt, _ = deliver.send(one, HERE)
    ((headers, body),) = target.got
    assert attempt.status == 204 and body == one.body.encode()
    Webhook(SECRET).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(json.dumps(json.loads(body)), headers)


def test_a_number_that_is_none_is_null_in_the_body(engine, target):
    """WHK-07"""
    one = due_one(engine, target.url, {"value": float("nan"), "quality": "missing"})
    assert json.loads(one.body)["data"] == {"value": None, "quality": "missing"}


def test_each_attempt_is_signed_at_its_own_time_under_the_same_id(engine, target):
    """WHK-05"""
    one = due_one(engine, target.url)
    now = datetime.now(UTC)
    early, late = deliver.signed(one, now - timedelta(minutes=20)), deliver.signed(one, now)
    assert early["webhook-id"] == late["webhook-id"]
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(one.body, early)
    Webhook(SECRET).verify(one.body, late)


def test_a_redirect_is_a_failure_and_is_not_followed(engine, target):
    target.status, target.headers = 302, {"location": target.url}
    attempt, _ = deliver.send(due_one(engine, target.url), HERE)
    assert attempt.status == 302 and len(target.got) == 1
    assert deliver.next_attempt(0, attempt, None) is not None


def test_retries_follow_the_table_within_a_tenth_and_then_end():
    at = datetime(2026, 3, 1, tzinfo=UTC)
    failed = outbox.Attempt(at=at, status=500, milliseconds=1, headers={}, answer="")
    seconds = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
    for made, wait in enumerate(seconds):
        next_at = deliver.next_attempt(made, failed, None)
        assert next_at is not None
        assert 0.9 * wait <= (next_at - at).total_seconds() <= 1.1 * wait
    assert deliver.next_attempt(len(seconds), failed, None) is None


def test_a_receiver_that_asks_for_patience_gets_it(engine, target):
    target.status, target.headers = 429, {"retry-after": "120"}
    attempt, asked = deliver.send(due_one(engine, target.url), HERE)
    assert asked == timedelta(seconds=120)
    next_at = deliver.next_attempt(0, attempt, asked)
    assert next_at is not None and next_at - attempt.at >= timedelta(seconds=120)


def run_until(engine, true: Callable[[], object]) -> None:
    """Run the delivery loop until something is true."""
    stop = threading.Event()
    settings = Settings.model_validate({"PRETREAT_WEBHOOK_ALLOW": "127.0.0.0/8"})
    loop = threading.Thread(target=deliver.run, args=(settings, engine, stop))
    loop.start()
    try:
        until(true)
    finally:
        stop.set()
        loop.join()


def states(engine) -> list[str]:
    with engine.connect() as db:
        return list(db.execute(select(t.delivery.c.state).order_by(t.delivery.c.id)).scalars())


def test_the_loop_delivers_in_order_and_keeps_each_attempt(engine, target):
    with engine.begin() as db:
        outbox.add_endpoint(db, url=target.url, secret=SECRET)
        ids = [outbox.put(db, "reading.stale", {"n": n}) for n in range(5)]
    run_until(engine, lambda: states(engine) == ["delivered"] * 5)
    assert [headers["webhook-id"] for headers, _ in target.got] == ids
    with engine.connect() as db:
        newest = outbox.deliveries(db, city_id=None)[0]
    assert [tried.status for tried in newest.attempts] == [204]


def test_a_receiver_that_is_gone_is_asked_no_more(engine, target):
    target.status = 410
    with engine.begin() as db:
        outbox.add_endpoint(db, url=target.url, secret=SECRET)
        outbox.put(db, "reading.stale", {"n": 1})
        outbox.put(db, "reading.stale", {"n": 2})
    run_until(engine, lambda: states(engine) == ["dead", "dead"])
    assert states(engine) == ["dead", "dead"] and len(target.got) == 1


def test_five_days_of_nothing_but_failure_disable_an_endpoint(engine, target):
    target.status = 500
    with engine.begin() as db:
        lost = outbox.add_endpoint(db, url=target.url, secret=SECRET)
        since = datetime.now(UTC) - deliver.PATIENCE - timedelta(minutes=1)
        db.execute(update(t.endpoint).where(t.endpoint.c.id == lost).values(failing_since=since))
        outbox.put(db, "reading.stale", {"n": 1})
    run_until(engine, lambda: states(engine) == ["dead"])
    with engine.connect() as db:
        assert [one.state for one in outbox.endpoints(db, city_id=None)] == ["disabled"]


def test_one_dead_receiver_does_not_delay_another(engine, target):
    with Target() as dead:
        dead.wait.clear()
        threading.Thread(target=dead.serve_forever, args=(0.02,), daemon=True).start()
        with engine.begin() as db:
            outbox.add_endpoint(db, url=dead.url, secret=SECRET)
            outbox.add_endpoint(db, url=target.url, secret=SECRET)
            for n in range(3):
                outbox.put(db, "reading.stale", {"n": n})

        def both() -> bool:
            if len(target.got) == 3:
                dead.wait.set()
            return states(engine).count("delivered") == 6

        run_until(engine, both)
        assert len(target.got) == 3
        dead.shutdown()


class Dripping(socketserver.ThreadingTCPServer):
    """A receiver that never ends its answer: a byte of a header now and then, till let go."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Drip)
        self.let_go = threading.Event()
        self.holding = 0

    def url(self, n: int = 0) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{n}"


class _Drip(socketserver.BaseRequestHandler):
    server: Dripping

    def handle(self) -> None:
        self.server.holding += 1
        try:
            self.request.sendall(b"HTTP/1.1 204 No Content\r\nX-Slow: ")
            while not self.server.let_go.wait(0.05):
                self.request.sendall(b"x")
        except OSError:
            return
        finally:
            self.server.holding -= 1


@pytest.fixture
def dripping() -> Iterator[Dripping]:
    with Dripping() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.let_go.set()
        server.shutdown()
        thread.join()


def test_a_receiver_that_drips_its_headers_is_cut_off(engine, dripping):
    attempt, _ = deliver.send(due_one(engine, dripping.url()), HERE, seconds=0.4)
    assert attempt.status is None
    assert attempt.answer == "TooSlow: no whole answer within 0.4 s"
    until(lambda: dripping.holding == 0)
    assert dripping.holding == 0  # the socket is closed, not left behind


def test_receivers_that_drip_hold_their_own_place_and_the_others_go_on(engine, dripping, target):
    with engine.begin() as db:
        for n in range(12):
            outbox.add_endpoint(db, url=dripping.url(n), secret=SECRET)
        outbox.add_endpoint(db, url=target.url, secret=SECRET)
        outbox.put(db, "reading.stale", {"n": 1})
    held: list[int] = []

    def went_on() -> bool:
        if target.got and dripping.holding == 12:
            held.append(dripping.holding)
            dripping.let_go.set()
        return bool(held)

    run_until(engine, went_on)
    assert held == [12] and len(target.got) == 1


def test_receivers_that_fail_never_take_every_worker(engine, dripping, target):
    many = deliver.WORKERS + 8
    with engine.begin() as db:
        for n in range(many):
            outbox.add_endpoint(db, url=dripping.url(n), secret=SECRET)
        db.execute(update(t.endpoint).values(failing_since=datetime.now(UTC)))
        outbox.put(db, "reading.stale", {"n": 1})

    def full() -> bool:
        return dripping.holding >= deliver.FOR_FAILING

    def went_on() -> bool:
        if full() and not told:
            with engine.begin() as db:
                outbox.add_endpoint(db, url=target.url, secret=SECRET)
                told.append(outbox.put(db, "reading.stale", {"n": 2}))
        if target.got:
            held.append(dripping.holding)
            dripping.let_go.set()
        return bool(held)

    told: list[str] = []
    held: list[int] = []
    run_until(engine, went_on)
    assert held[:1] == [deliver.FOR_FAILING] and len(target.got) == 1


def test_a_receiver_that_answered_in_time_has_its_message_though_its_body_drips(engine):
    class _Body(_Drip):
        def handle(self) -> None:
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nthanks")
            self.server.let_go.wait(10)

    with Dripping() as server:
        server.RequestHandlerClass = _Body
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        attempt, _ = deliver.send(due_one(engine, server.url()), HERE, seconds=0.5)
        server.let_go.set()
        server.shutdown()
    assert (attempt.status, attempt.answer) == (200, "thanks")


def test_a_claim_is_nobody_elses_until_its_lease_ends(engine, target):
    due_one(engine, target.url)
    now = datetime.now(UTC) + timedelta(seconds=2)
    with engine.begin() as db:
        assert outbox.due(db, now=now) == ()
        assert len(outbox.due(db, now=now + outbox.LEASE)) == 1


def test_an_event_of_one_city_is_not_sent_to_another(town):
    with town.engine.begin() as db:
        elsewhere = outbox.add_endpoint(
            db, url="https://elsewhere.example/", secret=SECRET, city_id=None
        )
        db.execute(
            t.city.insert().values(
                slug="monona", name="Monona", zone="America/Chicago", rulebooks=["monona"],
                control_authority="MMSD", ordinance_authority="Monona", billing_authority="Monona",
            )
        )  # fmt: skip
        monona = db.scalar(select(t.city.c.id).where(t.city.c.slug == "monona"))
        db.execute(update(t.endpoint).where(t.endpoint.c.id == elsewhere).values(city_id=monona))
        outbox.put(db, "bill.issued", {"bill": "B-1"}, monona)
        mine = outbox.deliveries(db, city_id=None)[0]
    assert mine.url == "https://elsewhere.example/"


def test_the_outbox_rolls_back_with_what_it_tells_of(engine):
    with pytest.raises(RuntimeError), engine.begin() as db:
        outbox.put(db, "bill.issued", {"bill": "B-1"})
        raise RuntimeError
    with engine.connect() as db:
        assert db.execute(select(t.outbox)).all() == []


def test_the_demo_receiver_takes_what_verifies_and_refuses_the_rest(engine):
    with receiver.Receiver(0, SECRET) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever, 0.02)
        one = due_one(engine, f"http://127.0.0.1:{server.server_address[1]}/")
        good, _ = deliver.send(one, HERE)
        again, _ = deliver.send(one, HERE)
        forged = outbox.Due(
            delivery_id=1, message_id="m", type="x", body="{}", endpoint_id=1, url=one.url,
            secret="whsec_" + "b3RoZXJvdGhlcm90aGVyb3RoZXI=", attempts=0,
        )  # fmt: skip
        bad, _ = deliver.send(forged, HERE)
        server.shutdown()
    assert (good.status, again.status, bad.status) == (204, 204, 400)
    assert (len(server.messages), server.refused) == (1, 1)


def test_the_demo_receiver_counts_all_that_verified_and_shows_the_last(engine):
    with receiver.Receiver(0, SECRET) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever, 0.02)
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        one = due_one(engine, url)
        for n in range(receiver.KEEP + 3):
            deliver.send(replace(one, message_id=f"msg_{n}"), HERE)
        with urllib.request.urlopen(url) as page:
            text = page.read().decode()
        server.shutdown()
    assert f"{receiver.KEEP + 3} verified, 0 refused" in text
    assert text.count("<h2>") == receiver.KEEP
