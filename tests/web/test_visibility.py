"""Who sees what, tried on every route the program has: no hand-made list of routes."""

from __future__ import annotations

import pytest

from app.main import create_app
from tests.support.routes import routes

PUBLIC = {"/signin", "/signout", "/healthz", "/readyz"}


def all_paths(client) -> list[tuple[str, str]]:
    """Method and path of every route of the application, from its own tables."""
    return sorted((one.method, one.path) for one in routes(client.app))


def filled(path: str, town, *, others: bool) -> str:
    values = {
        "code": town.others_point if others else town.point,
        "detection_id": str(town.others_detection if others else town.detection),
        "number": town.others_bill if others else town.bill,
        "note_id": "1",
        "gateway_id": "1",
        "exceedance_id": "b" * 24 if others else "a" * 24,
        "slug": "dairy" if others else "acme",
        "approval_id": str(town.others_approval if others else town.approval),
        "paper_id": str(town.others_permit if others else town.permit),
        "snc_id": str(town.others_snc if others else town.snc),
        "question_id": "1",
        "hold_id": "1",
        "figure_id": "1",
        "agreement_id": "1",
        "instrument_id": str(town.others_instrument if others else town.instrument),
        "window": str(town.others_window if others else town.window),
        "channel_id": str(town.others_channel if others else town.channel),
        "determination_id": str(town.others_determination if others else town.determination),
    }
    for name, value in values.items():
        path = path.replace("{" + name + "}", value)
    assert "{" not in path, f"the test does not know the parameter in {path}"
    return path


def test_no_route_but_the_public_ones_answers_without_sign_in(visitor, town, settings):
    """SEC-05"""
    seen = all_paths(visitor)
    assert len(seen) > 25
    for method, path in seen:
        if path in PUBLIC:
            continue
        answer = visitor.request(method, filled(path, town, others=False))
        where = answer.headers.get("location")
        assert answer.status_code == 401 or where == "/signin", (method, path, answer.status_code)


def test_no_route_shows_a_user_anything_of_another_user(as_person, town):
    """SEC-03"""
    client = as_person("jo")
    for method, path in all_paths(client):
        if path in PUBLIC or path == "/api/v1/live":
            continue
        body = {"decision": "open", "reason": "not mine at all"} if method == "POST" else None
        answer = client.request(method, filled(path, town, others=True), data=body)
        if "{" in path:
            assert answer.status_code == 404, (method, path, answer.status_code)
        else:
            assert town.others_bill not in answer.text, (method, path)
        assert "Bright Dairy" not in answer.text, (method, path)


def test_a_users_own_things_are_there(as_person, town):
    client = as_person("jo")
    for path in (
        f"/points/{town.point}",
        f"/detections/{town.detection}",
        f"/bills/{town.bill}",
        f"/api/v1/points/{town.point}/readings",
        f"/api/v1/detections/{town.detection}",
        f"/api/v1/bills/{town.bill}",
        "/instruments",
        f"/instruments/{town.instrument}",
        f"/instruments/{town.instrument}/windows",
        f"/instruments/{town.instrument}/calibrations",
        f"/api/v1/instruments/{town.instrument}",
        f"/points/{town.point}/determinations",
        f"/points/{town.point}/corrections",
        f"/determinations/{town.determination}/evidence",
        f"/api/v1/points/{town.point}/exclusions",
        f"/api/v1/channels/{town.channel}/determinations",
        f"/api/v1/channels/{town.channel}/corrections",
        "/users/acme/binds",
        "/api/v1/users/acme/binds",
        f"/papers/{town.permit}/file",
        "/users/acme/noncompliance",
        "/users/acme/noncompliance.csv",
        "/api/v1/users/acme/noncompliance",
        f"/noncompliance/{town.snc}/file",
    ):
        assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("path", ["/webhooks", "/health", "/metrics"])
def test_the_citys_machine_room_is_not_for_industrial_users(as_person, path):
    client = as_person("jo")
    assert client.get(path).status_code == 403


@pytest.mark.parametrize(("login", "status"), [("jo", 403), ("olga", 403), ("cleo", 403)])
def test_only_coordinator_and_director_decide(as_person, town, login, status):
    answer = as_person(login).post(
        f"/detections/{town.detection}", data={"decision": "open", "reason": "because I say so"}
    )
    assert answer.status_code == status


@pytest.mark.parametrize(("login", "status"), [("jo", 403), ("cleo", 403), ("adam", 403)])
def test_only_coordinator_director_and_operator_declare(as_person, town, login, status):
    client = as_person(login)
    where = f"/instruments/{town.instrument}"
    for path in ("windows", f"windows/{town.window}/end", f"windows/{town.window}/withdraw"):
        answer = client.post(f"{where}/{path}", data={"reason": "because I say so"})
        assert answer.status_code == status, path
    assert client.post(f"{where}/calibrations", data={"by": "me"}).status_code == status
    assert '<form method="post" action="/instruments' not in client.get(f"{where}/windows").text


@pytest.mark.parametrize(("login", "status"), [("jo", 403), ("cleo", 403), ("adam", 403)])
def test_only_coordinator_director_and_operator_determine_and_correct(
    as_person, town, login, status
):
    client, where = as_person(login), f"/points/{town.point}"
    for path in ("determinations", "determinations/check", "corrections", "corrections/check"):
        sent = {"channel": str(town.channel), "reason": "because I say so"}
        assert client.post(f"{where}/{path}", data=sent).status_code == status, path
    for path in ("determinations", "corrections"):
        assert f'action="{where}/{path}' not in client.get(f"{where}/{path}").text
    span = {"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z", "verdict": "invalid"}
    api = f"/api/v1/channels/{town.channel}"
    said = client.post(f"{api}/determinations", data={**span, "reason": "because I say so"})
    assert said.status_code == status
    assert client.get(f"{api}/determinations/foreseen", params=span).status_code == status
    body = {"reason": "because I say so", "corrections": [{"at": span["since"], "value": 7}]}
    assert client.post(f"{api}/corrections", json=body).status_code == status


@pytest.mark.parametrize("login", ["jo", "olga", "cleo", "adam"])
def test_only_coordinator_and_director_enter_papers(as_person, town, login):
    client = as_person(login)
    for path in ("/users/acme/papers/new", "/users/acme/approvals/new"):
        assert client.get(path).status_code == 403, path
        assert client.post(path, data={"number": "P-9"}).status_code == 403, path
    where = f"/approvals/{town.approval}/withdraw"
    assert client.post(where, data={"reason": "because I say so"}).status_code == 403
    assert "/papers/new" not in client.get("/users/acme/binds").text


def test_a_window_of_another_instrument_is_not_reached_through_ones_own(as_person, town):
    where = f"/instruments/{town.instrument}/windows/{town.others_window}"
    answer = as_person("ana").post(f"{where}/withdraw", data={"reason": "because I say so"})
    assert answer.status_code == 404


def test_the_application_is_made_without_touching_the_database(settings, engine):
    assert create_app(settings, engine).state.engine is engine
