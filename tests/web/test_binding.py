"""What binds a user, on its page: every source, what is not loaded; forms that name faults."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from compliance.records import tables as t

FORM = {
    "kind": "permit", "number": "P-77", "user_class": "SIU", "effective": "2026-01-01",
    "ended": "2030-01-01", "issued_by": "Dan Moe", "office": "Director",
    "part": ["part 1", ""], "point": ["MH-1", ""], "parameter": ["ph", ""],
    "basis": ["instantaneous", "instantaneous"], "low": ["6.5", ""], "high": ["8.5", ""],
    "unit": ["s.u.", ""], "sample": ["", ""], "force": ["enforceable", "enforceable"],
    "duty_point": [""], "duty_parameter": ["zinc"], "duty_sample": ["composite"],
    "duty_frequency": ["monthly"], "duty_by": ["the user"],
}  # fmt: skip
PAPER = {"file": ("permit.txt", b"Permit P-77", "text/plain")}
APPROVAL = {
    "rule": "prescott.temperature", "high": "155", "effective": "2026-07-01", "author": "Dan Moe",
    "office": "Director of Public Works", "reason": "the cooler is being mended",
}  # fmt: skip


def stored(town) -> list[str]:
    with town.engine.connect() as db:
        rows = db.scalars(select(t.control.c.content).order_by(t.control.c.id))
        return [one["number"] for one in rows]


def test_every_source_is_shown_with_its_numbers_and_the_strictest_is_marked(as_person, town):
    client = as_person("ana")
    assert client.post("/users/acme/papers/new", data=FORM, files=PAPER).status_code == 303
    shown = client.get("/users/acme/binds").text
    for part in ("6.0 to 9.0", "6.5 to 8.5", "permit.p_77.ph.at_mh_1", "prescott.ph", "Strictest",
                 "2.61", "monthly, by the user", "not the same as compliant"):  # fmt: skip
        assert part in shown, part
    assert "is compliant" not in shown
    found = client.get("/api/v1/users/acme/binds").json()
    limits = {one["rule"]: one for one in found["points"][0]["limits"]}
    assert limits["permit.p_77.ph.at_mh_1"]["strictest"] is True
    assert limits["prescott.ph"]["strictest"] is False
    paper = client.get("/papers/3/file")
    assert paper.content == b"Permit P-77"
    assert "permit.txt" in paper.headers["content-disposition"]


def test_a_paper_is_refused_beside_the_field_that_is_wrong(as_person, town):
    client = as_person("ana")
    for changed, said in (
        ({"number": ""}, "Write its number"),
        ({"kind": "licence"}, "Choose what sort of paper"),
        ({"effective": "soon"}, "expected a day such as"),
        ({"ended": "2040-01-01"}, "a permit lasts 5 years at most"),
        ({"user_class": ""}, "has no class"),
        ({"high": ["8,5", ""]}, "expected a plain number"),
        ({"parameter": ["acid", ""]}, "is not known"),
        ({"unit": ["mg/L", ""]}, "expected a unit of ph"),
        ({"point": ["MH-2", ""]}, "expected one of MH-1"),
    ):
        answer = client.post("/users/acme/papers/new", data={**FORM, **changed}, files=PAPER)
        assert (answer.status_code, said in answer.text) == (422, True), (changed, said)
        assert "There is a problem" in answer.text
    assert "P-77" not in stored(town)


def test_an_approval_is_entered_shown_and_withdrawn(as_person, town):
    client = as_person("dan")
    offered = client.get("/users/acme/approvals/new").text
    assert '<option value="prescott.temperature"' in offered
    assert '<option value="prescott.ph"' not in offered
    refused = client.post("/users/acme/approvals/new", data={**APPROVAL, "rule": "prescott.ph"})
    assert refused.status_code == 422
    assert "cannot be lifted" in refused.text
    for field in ("reason", "author", "high", "effective"):
        blank = client.post("/users/acme/approvals/new", data={**APPROVAL, field: ""})
        assert blank.status_code == 422, field
    assert client.post("/users/acme/approvals/new", data=APPROVAL).status_code == 303
    assert "the cooler is being mended" in client.get("/users/acme/binds").text
    short = client.post(f"/approvals/{town.approval}/withdraw", data={"reason": "no"})
    assert short.status_code == 422
    done = client.post(f"/approvals/{town.approval}/withdraw", data={"reason": "it is mended"})
    assert done.status_code == 303
    again = client.post(f"/approvals/{town.approval}/withdraw", data={"reason": "it is mended"})
    assert again.status_code in (403, 409)
    assert "Withdrawn on" in client.get("/users/acme/binds").text


@pytest.mark.parametrize("path", ["/users/dairy/binds", "/api/v1/users/dairy/binds"])
def test_a_user_sees_its_own_and_no_other(as_person, town, path):
    client = as_person("jo")
    assert client.get(path).status_code == 404
    assert client.get(path.replace("dairy", "acme")).status_code == 200
    assert client.get(f"/papers/{town.others_permit}/file").status_code == 404


def test_the_page_of_a_finding_names_the_others_that_bind(as_person, town):
    shown = as_person("ana").get(f"/detections/{town.detection}").text
    assert "What else limits" in shown
    assert "federal.ph_floor" in shown
    assert "despite_approval" not in shown


def test_an_approved_finding_says_so_and_asks_that_it_be_said(as_person, town):
    with town.engine.begin() as db:
        changed = {"rule_id": "prescott.temperature", "worst": "155", "side": "above"}
        db.execute(update(t.exceedance).values(**changed))
    client, where = as_person("ana"), f"/detections/{town.detection}"
    assert "approved by Dan Moe" in client.get(where).text
    said = {"decision": "open", "reason": "it was far too hot"}
    refused = client.post(where, data=said)
    assert (refused.status_code, "opened despite the approval" in refused.text) == (422, True)
    api = {"detection": town.detection, "reason": "it was far too hot"}
    assert client.post("/api/v1/violations", json=api).status_code in (403, 409)
    assert client.post(where, data={**said, "despite_approval": "true"}).status_code == 303


def test_a_user_without_a_permit_is_told_so(as_person, town):
    with town.engine.begin() as db:
        db.execute(t.control.delete())
    shown = as_person("ana").get("/users/acme/binds").text
    assert "No permit in force" in shown
    assert "No permit, order or agreement of this user is on file." in shown
