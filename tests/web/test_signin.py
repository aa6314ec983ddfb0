"""Signing in: sessions live on the server, failures slow the next, other sites may not write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from app import auth
from app.main import create_app
from compliance.records import people
from compliance.records import tables as t
from compliance.settings import Settings

PASSWORD = "correct horse"


def test_a_stranger_is_led_to_the_sign_in(visitor):
    answer = visitor.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin")


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(visitor):
    wrong = visitor.post("/signin", data={"login": "ana", "password": "no"})
    unknown = visitor.post("/signin", data={"login": "nobody", "password": "no"})
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.text.replace("ana", "nobody") == unknown.text


def test_the_cookie_cannot_be_read_by_scripts_and_is_stored_only_as_a_digest(visitor, town):
    answer = visitor.post("/signin", data={"login": "ANA", "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    token = answer.cookies["session"]
    assert "httponly" in cookie and "samesite=lax" in cookie and "secure" not in cookie
    with town.engine.connect() as db:
        assert db.execute(select(t.session.c.token_sha256)).scalars().all() == [auth.digest(token)]


def test_behind_https_the_cookie_is_secure_and_bound_to_the_host(town):
    settings = Settings.model_validate({"PRETREAT_BASE_URL": "https://testserver"})
    with TestClient(create_app(settings, town.engine), follow_redirects=False) as client:
        answer = client.post("/signin", data={"login": "ana", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-session=") and "secure" in cookie.lower()


def test_signing_in_gives_a_new_session_and_signing_out_kills_it(visitor):
    """SEC-09"""
    visitor.cookies.set("session", "planted")
    token = visitor.post("/signin", data={"login": "ana", "password": PASSWORD}).cookies["session"]
    assert token != "planted"
    assert visitor.get("/", headers={"cookie": "session=planted"}).status_code == 303
    assert visitor.get("/", headers={"cookie": f"session={token}"}).status_code == 200
    visitor.post("/signout", headers={"cookie": f"session={token}"})
    assert visitor.get("/", headers={"cookie": f"session={token}"}).status_code == 303


def test_signing_in_again_ends_the_session_one_came_with(visitor):
    first = visitor.post("/signin", data={"login": "ana", "password": PASSWORD}).cookies["session"]
    visitor.post("/signin", data={"login": "jo", "password": PASSWORD})
    assert visitor.get("/", headers={"cookie": f"session={first}"}).status_code == 303


def test_an_idle_session_and_an_old_one_are_dead(as_person, town):
    client = as_person("ana")
    now = datetime.now(UTC)
    for column, age in (("seen_at", auth.IDLE), ("created_at", auth.LONGEST)):
        with town.engine.begin() as db:
            db.execute(update(t.session).values(seen_at=now, created_at=now))
            db.execute(update(t.session).values({column: now - age - timedelta(seconds=1)}))
        assert client.get("/").status_code == 303


def test_after_five_failures_even_the_right_password_must_wait(visitor):
    for _ in range(auth.FAILURES):
        visitor.post("/signin", data={"login": "ana", "password": "no"})
    answer = visitor.post("/signin", data={"login": "Ana", "password": PASSWORD})
    assert answer.status_code == 429
    assert "try again in 15 min" in answer.text
    other = visitor.post("/signin", data={"login": "dan", "password": PASSWORD})
    assert other.status_code == 303


def coming_from(town, settings, host: str) -> TestClient:
    app = create_app(settings, town.engine)
    return TestClient(app, follow_redirects=False, client=(host, 50_000))


def test_a_stranger_makes_an_account_slow_for_its_owner_but_does_not_shut_it(town, settings):
    with coming_from(town, settings, "192.0.2.1") as stranger:
        for _ in range(auth.FAILURES):
            stranger.post("/signin", data={"login": "ana", "password": "no"})
        assert stranger.post("/signin", data={"login": "ana", "password": "no"}).status_code == 429
    now = datetime.now(UTC)
    assert auth.slowed(town.engine, login="ANA", address="192.0.2.2", now=now) > 0
    assert auth.slowed(town.engine, login="dan", address="192.0.2.2", now=now) == 0
    with coming_from(town, settings, "192.0.2.2") as owner:
        answer = owner.post("/signin", data={"login": "ana", "password": PASSWORD})
    assert answer.status_code == 303


def failed(town, *, login: str, address: str, times: int) -> None:
    with town.engine.begin() as db:
        for _ in range(times):
            people.note_failure(db, login, address=address, now=datetime.now(UTC))


def test_one_address_may_fail_fifty_times_whatever_the_names(town, settings):
    for n in range(auth.FROM_ADDRESS):
        failed(town, login=f"name{n}", address="192.0.2.1", times=1)
    with coming_from(town, settings, "192.0.2.1") as stranger:
        answer = stranger.post("/signin", data={"login": "ana", "password": PASSWORD})
    assert answer.status_code == 429
    assert "50 sign-ins from this address failed in 15 minutes" in answer.text
    with coming_from(town, settings, "192.0.2.2") as other:
        answer = other.post("/signin", data={"login": "ana", "password": PASSWORD})
    assert answer.status_code == 303


def test_guesses_from_very_many_addresses_shut_an_account_in_the_end(town):
    for n in range(auth.FROM_ANYWHERE // 4):
        failed(town, login="ana", address=f"192.0.2.{n}", times=4)
    with pytest.raises(auth.TooManyFailures):
        auth.slowed(town.engine, login="ana", address="198.51.100.1", now=datetime.now(UTC))


def test_all_addresses_of_one_site_count_as_one():
    assert auth.source("2001:db8:1:2::1") == auth.source("2001:db8:1:2:ffff::9%eth0")
    assert auth.source("2001:db8:1:2::1") != auth.source("2001:db8:1:3::1")
    assert auth.source("::ffff:192.0.2.1") == auth.source("192.0.2.1") == "192.0.2.1"


def test_a_write_from_another_site_is_refused(as_person, town):
    client = as_person("ana")
    where = f"/detections/{town.detection}"
    form = {"decision": "wait", "reason": "a long enough reason"}
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
    ):
        assert client.post(where, data=form, headers=headers).status_code == 403
    assert client.post(where, data=form, headers={"origin": "http://testserver"}).status_code == 303


def test_every_answer_carries_the_policy_that_allows_no_other_source(visitor):
    for where in ("/signin", "/", "/api/v1/points", "/healthz", "/static/app.css", "/nowhere"):
        headers = visitor.get(where).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
