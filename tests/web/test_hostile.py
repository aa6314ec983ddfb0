"""Hostile requests on every route: refused in a sentence, never a fault of the program."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text

from app.main import create_app
from compliance.records import tables as t
from compliance.records.engine import make_engine
from tests.support.routes import Route, routes

NUMBERS = (str(2**31), str(2**63), str(10**30), "-1", "0", "1.5", "9" * 5000)
TEXTS = ("a\x00b", "\x00", "' OR 1=1 --", "%", "\ufffe", "x" * 9000)
INSTANTS = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "9999-12-31T23:59:59",
    "1e18",
)
HOSTILE = (*NUMBERS, *TEXTS, *INSTANTS)
REFUSED = {400, 401, 403, 404, 405, 413, 415, 422, 429}


def address(route: Route, town, *, replaced: str = "", by: str = "") -> str:
    path = route.path
    known = {
        "code": town.point,
        "detection_id": str(town.detection),
        "gateway_id": "1",
        "exceedance_id": "a" * 24,
        "slug": "acme",
        "approval_id": str(town.approval),
        "paper_id": str(town.permit),
        "snc_id": str(town.snc),
        "question_id": "1",
        "hold_id": "1",
        "figure_id": "1",
        "agreement_id": "1",
        "number": town.bill,
        "note_id": "1",
        "instrument_id": str(town.instrument),
        "window": str(town.window),
        "channel_id": str(town.channel),
        "determination_id": str(town.determination),
    }
    for name in route.in_path:
        value = by if name == replaced else known[name]
        path = path.replace("{" + name + "}", quote(value, safe=""))
    return path


def faults(town) -> list[str]:
    with town.engine.connect() as db:
        return list(db.scalars(select(t.fault.c.what)))


def test_no_hostile_value_in_any_address_query_or_form_is_a_fault(as_person, town):
    client = as_person("ana")
    tried = 0
    for route in routes(client.app):
        if route.path in ("/api/v1/live", "/signout", "/signin") or route.method == "HEAD":
            continue
        for value in HOSTILE:
            for name in route.in_path:
                answer = client.request(route.method, address(route, town, replaced=name, by=value))
                assert answer.status_code in REFUSED, (route, name, value[:20], answer.status_code)
            for name in route.in_query:
                answer = client.request(route.method, address(route, town), params={name: value})
                is_nul = "\x00" in value
                assert answer.status_code == 400 if is_nul else answer.status_code < 500, (
                    route, name, value[:20], answer.status_code,
                )  # fmt: skip
            for name in route.in_body:
                form = {"decision": "wait", "reason": "a long enough reason", name: value}
                answer = client.request(route.method, address(route, town), data=form)
                assert answer.status_code < 500, (route, name, value[:20], answer.status_code)
            tried += len(route.in_path) + len(route.in_query) + len(route.in_body)
    assert tried > 20 * len(HOSTILE)
    assert faults(town) == []


@pytest.mark.parametrize("field", ["detection", "reason", "other"])
def test_no_hostile_value_in_a_body_of_json_is_a_fault(as_person, town, field):
    client = as_person("dan")
    for value in (*HOSTILE, "\ud800", None, [], {}, 1.5, 10**30, -1):
        body = {"detection": town.detection, "reason": "a long enough reason", field: value}
        answer = client.post(
            "/api/v1/violations",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )
        # odd text is a reason like any other, and what it has opened is there the next time
        is_harmless = field == "reason" and answer.status_code in (201, 403)
        assert is_harmless or answer.status_code in (400, 404, 422), (value, answer.text)
    assert faults(town) == []


@pytest.mark.parametrize("field", ["at", "value", "quality", "other", "reason", "corrections"])
def test_no_hostile_correction_is_a_fault(as_person, town, field):
    client = as_person("ana")
    for value in (*HOSTILE, "\ud800", None, [], {}, 1.5, 10**30, -1, float("inf"), float("nan")):
        one = {"at": town.at.isoformat(), "value": 7.1}
        body = {"reason": "a long enough reason", "corrections": [one]}
        (body if field in body else one)[field] = value
        answer = client.post(
            f"/api/v1/channels/{town.channel}/corrections",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )
        is_harmless = answer.status_code == 201 and field in ("reason", "value", "quality")
        assert is_harmless or answer.status_code in (400, 422), (value, answer.text)
    assert faults(town) == []


def test_a_body_that_is_no_object_is_refused_in_a_sentence(as_person, town):
    client = as_person("dan")
    for content in ("{", "[]", "null", '"x"', "", "\x00", "[" * 30_000):
        answer = client.post(
            "/api/v1/violations", content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code in (400, 422), content[:10]
        assert answer.headers["content-type"] == "application/problem+json"
    assert faults(town) == []


@pytest.mark.parametrize("form", [{"login": "a\x00"}, {"password": "\x00"}, {"login": "x" * 300}])
def test_a_hostile_sign_in_is_refused(visitor, town, form):
    answer = visitor.post("/signin", data={"login": "ana", "password": "no", **form})
    assert answer.status_code in (400, 422) and "<h1>" in answer.text
    assert faults(town) == []


def test_a_nul_in_a_key_or_a_file_name_is_refused_or_dropped(as_person, town):
    client = as_person("jo")
    good = "Sample,Point,Collected,Parameter,Result,Unit\nL,MH-1,2026-11-20 08:00,TSS,210,mg/L\n"
    files = {"file": ("lab\x00.csv", good)}
    headers = {"idempotency-key": "a\x00b"}
    assert client.post("/api/v1/results", files=files, headers=headers).status_code == 400
    assert client.post("/api/v1/results", files=files).status_code < 500
    assert faults(town) == []


def test_an_instant_out_of_reach_is_a_problem_in_a_sentence(as_person, town):
    client = as_person("ana")
    for when in INSTANTS[:4]:
        for name in ("since", "until"):
            answer = client.get(f"/api/v1/points/{town.point}/readings", params={name: when})
            assert answer.status_code == 422
            assert "no instant of these records" in answer.json()["detail"]
        assert client.get(f"/points/{town.point}", params={"until": when}).status_code == 422


def test_an_unforeseen_fault_is_noted_and_shows_no_traceback(town, settings):
    app = create_app(settings, town.engine)

    def broken() -> None:
        raise RuntimeError("the secret of the trace")

    app.add_api_route("/api/v1/broken", broken)
    app.add_api_route("/broken", broken)
    with TestClient(app) as client:
        problem, page = client.get("/api/v1/broken"), client.get("/broken")
    assert problem.status_code == page.status_code == 500
    assert problem.headers["content-type"] == "application/problem+json"
    assert page.text.startswith("<!doctype html>")
    for answer in (problem, page):
        assert "secret" not in answer.text and "Traceback" not in answer.text
        assert answer.headers["content-security-policy"]
    assert faults(town) == [
        "GET /api/v1/broken: RuntimeError: the secret of the trace",
        "GET /broken: RuntimeError: the secret of the trace",
    ]


def test_without_a_database_pages_sign_in_and_api_say_so_in_one_sentence(settings):
    gone = make_engine("postgresql://nobody@127.0.0.1:1/nothing")
    with TestClient(create_app(settings, gone), follow_redirects=False) as client:
        client.cookies.set("session", "x")
        answers = {
            "page": client.get("/"),
            "sign-in": client.post("/signin", data={"login": "ana", "password": "x"}),
            "api": client.get("/api/v1/points"),
            "ready": client.get("/readyz"),
        }
    for name, answer in answers.items():
        assert answer.status_code == 503, name
        assert answer.headers["retry-after"], name
    for name in ("page", "sign-in"):
        assert "The database does not answer" in answers[name].text
    assert answers["api"].headers["content-type"] == "application/problem+json"
    assert answers["api"].json()["detail"].startswith("The database does not answer")


def test_a_database_that_goes_away_in_between_is_no_fault_of_the_request(as_person, town, server):
    client = as_person("ana")
    with town.engine.connect() as db:
        name = db.scalar(text("SELECT current_database()"))
        db.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = :name AND pid <> pg_backend_pid()"
            ),
            {"name": name},
        )
    assert client.get("/").status_code in (200, 503)
    assert client.get("/").status_code == 200


def test_an_origin_that_no_browser_sends_is_another_site(as_person, town):
    answer = as_person("ana").post("/signout", headers={"origin": "http://[::1"})
    assert answer.status_code == 403


def test_no_redirect_names_the_host_that_a_request_claims(as_person):
    answer = as_person("ana").get("/bills/", headers={"host": "evil.example"})
    assert "evil.example" not in answer.headers.get("location", "")
    assert answer.status_code == 404
