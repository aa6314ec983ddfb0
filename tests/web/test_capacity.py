"""Shares, service agreements and the ledger on pages: who may do what, and what is kept of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import insert, select

from compliance.records import tables as t

pytestmark = pytest.mark.database
AGREED = {
    "since": "2026-01-01",
    "until": "2030-01-01",
    "capital": "12.5",
    "conditions": "pays 12.5 % of the capital until it ends",
    "document": "Agreement of 2026",
}
PLAN = {
    "facility": "0",
    "what": "design",
    "parameter": "flow",
    "value": "0.9",
    "document": "Facility plan, table 4",
    "paper": "facility plan",
    "dated": "2020-05-01",
}
ASKED = {"applicant": "New Brewery", "flow_gpd": "30000", "bod5_mg_l": "400"}


@pytest.fixture
def year(town):
    """A year of days at both points: Acme 49,000 gallons a day, the dairy nothing."""
    with town.engine.begin() as db:
        for code, flow in ((town.point, 49_000), (town.others_point, 0)):
            point = db.scalar(
                select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == code)
            )
            today = datetime.now(UTC).date()
            db.execute(
                insert(t.day_fact),
                [
                    {
                        "monitoring_point_id": point,
                        "day": today - timedelta(days=n),
                        "flow_gal": Decimal(flow),
                        "source": "meter",
                    }
                    for n in range(1, 740)
                ],
            )
    return town


def user_of(town, name="Acme Plating") -> int:
    with town.engine.connect() as db:
        c = t.industrial_user.c
        return db.scalar(select(c.id).where(c.name == name))


def acts(town) -> list[str]:
    with town.engine.connect() as db:
        return list(db.scalars(select(t.audit.c.act).order_by(t.audit.c.id)))


def events(town) -> list[str]:
    with town.engine.connect() as db:
        return list(db.scalars(select(t.outbox.c.type).order_by(t.outbox.c.id)))


def test_a_user_sees_his_own_shares_and_nobody_elses(as_person, year):
    page = as_person("jo").get("/shares")
    assert page.status_code == 200
    assert "9.80 %" in page.text and "Approaches 10 %" in page.text
    assert "Bright Dairy" not in page.text
    assert "Record a service agreement" not in page.text


def test_the_api_tells_the_same_shares(as_person, year):
    users = as_person("jo").get("/api/v1/shares").json()["users"]
    assert [one["name"] for one in users] == ["Acme Plating"]
    assert users[0]["shares"]["flow"]["percent"] == "9.80"
    assert users[0]["shares"]["bod5"]["percent"] is None
    assert users[0]["shares"]["flow"]["forecast"]["says"] == (
        "no forecast: the share does not rise"
    )


def test_without_days_the_page_says_so(as_person, town):
    assert "The shares cannot be worked" in as_person("ana").get("/shares").text


@pytest.mark.parametrize(("login", "status"), [("jo", 403), ("olga", 403), ("cleo", 403)])
def test_only_coordinator_and_director_record(as_person, town, login, status):
    client = as_person(login)
    for path in (
        "/shares/agreements",
        "/shares/deductions",
        "/capacity/facilities",
        "/capacity/figures",
        "/capacity/notes",
        "/capacity/determinations",
    ):
        assert client.post(path, data={}).status_code == status, path


def test_the_coordinator_does_not_determine(as_person, town):
    client = as_person("ana")
    assert client.post("/capacity/notes", data={}).status_code == 403
    answer = client.post("/capacity/determinations", data={**ASKED, "finding": "available"})
    assert answer.status_code == 403
    assert "The determination is the Director" in client.get("/capacity", params=ASKED).text


def test_the_ledger_is_not_for_industrial_users(as_person, town):
    client = as_person("jo")
    assert client.get("/capacity").status_code == 403
    assert client.get("/api/v1/capacity").status_code == 403


def test_an_agreement_lives_from_proposal_to_release(as_person, town):
    client = as_person("ana")
    sent = {**AGREED, "user": str(user_of(town))}
    assert client.post("/shares/agreements", data=sent).status_code == 303
    assert "Proposed" in client.get("/shares").text
    assert client.post("/shares/agreements/1/sign", data={"signed_on": "2026-01-01"}).is_redirect
    assert "In force" in client.get("/shares").text
    assert "agreement.on_file" in events(town)
    gone = {"released_on": "2026-02-01", "why": "the user stopped discharging"}
    assert client.post("/shares/agreements/1/release", data=gone).is_redirect
    assert "Released" in client.get("/shares").text
    again = client.post("/shares/agreements/1/release", data=gone)
    assert again.status_code == 422 and "released already" in again.text
    assert acts(town)[-3:] == [
        "propose a service agreement",
        "record a signed service agreement",
        "release from a service agreement",
    ]


def test_an_agreement_leaves_tariffs_and_bills_as_they_are(as_person, town):
    def money():
        with town.engine.connect() as db:
            return [db.execute(select(one)).all() for one in (t.bill, t.bill_line)]

    before = money()
    client = as_person("ana")
    client.post("/shares/agreements", data={**AGREED, "user": str(user_of(town))})
    client.post("/shares/agreements/1/sign", data={"signed_on": "2026-01-01"})
    assert money() == before


def test_the_paper_of_an_agreement_is_kept_with_its_hash_and_is_the_users_too(as_person, town):
    client = as_person("ana")
    file = {"file": ("agreed.txt", b"signed by both")}
    client.post("/shares/agreements", data={**AGREED, "user": str(user_of(town))}, files=file)
    assert as_person("jo").get("/shares/agreements/1/paper").content == b"signed by both"
    other = {**AGREED, "user": str(user_of(town, "Bright Dairy"))}
    as_person("ana").post("/shares/agreements", data=other, files=file)
    assert as_person("jo").get("/shares/agreements/2/paper").status_code == 404


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("capital", "0", "expected a number over zero"),
        ("capital", "101", "at most 100"),
        ("since", "soon", "expected a day"),
        ("until", "2025-01-01", "ends before it begins"),
        ("conditions", "x", "what the user agrees to"),
        ("user", "999", "Choose one of the list"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(as_person, town, field, given, said):
    sent = {**AGREED, "user": str(user_of(town)), field: given}
    answer = as_person("ana").post("/shares/agreements", data=sent)
    assert answer.status_code == 422
    assert f'id="{field}-wrong"' in answer.text and said in answer.text


def test_a_deduction_lowers_the_share_and_names_its_basis(as_person, year):
    client = as_person("ana")
    sent = {
        "deduct_user": str(user_of(year)),
        "deduct_since": "2020-01-01",
        "gpd": "4,000",
        "basis": "200 people, 20 gallons each",
    }
    assert client.post("/shares/deductions", data=sent).status_code == 303
    page = client.get("/shares").text
    assert "9.00 %" in page and "200 people, 20 gallons each" in page


def test_where_documents_differ_both_shares_stand_and_a_note_settles_it(as_person, year):
    client = as_person("dan")
    assert client.post("/capacity/figures", data={**PLAN, "value": "0.45"}).status_code == 303
    waiting = client.get("/api/v1/shares").json()["users"][0]
    assert waiting["required"] is False
    flow = waiting["shares"]["flow"]
    assert flow["state"] == "unsettled"
    assert [one["percent"] for one in flow["by_document"]] == ["9.80", "10.89"]
    assert "the documents differ on the design" in client.get("/capacity").text
    note = {"governs": "0:flow:1", "governs_why": "the plan is the newer design basis"}
    assert client.post("/capacity/notes", data=note).status_code == 303
    settled = client.get("/api/v1/shares").json()["users"][0]
    assert settled["required"] is True and settled["shares"]["flow"]["percent"] == "10.89"


def test_a_withdrawn_figure_counts_no_more(as_person, town):
    client = as_person("ana")
    client.post("/capacity/figures", data=PLAN)
    assert "documents differ" in client.get("/capacity").text
    why = {"why": "entered for another plant"}
    assert client.post("/capacity/figures/1/withdraw", data=why).status_code == 303
    assert "documents differ" not in client.get("/capacity").text


def test_the_ledger_with_a_request_says_what_would_be_left_and_what_is_not_known(as_person, town):
    client = as_person("dan")
    used = {**PLAN, "what": "used", "value": "0.3", "document": "CMAR 2025", "paper": "CMAR"}
    assert client.post("/capacity/figures", data=used).status_code == 303
    page = client.get("/capacity", params=ASKED).text
    assert ">0.17<" in page  # 0.5 less 0.3 less 0.03
    assert "the design is not on record" in page.casefold()
    sent = {**ASKED, "finding": "conditional", "finding_why": "only outside of wet weather"}
    assert client.post("/capacity/determinations", data=sent).status_code == 303
    assert "available under conditions" in client.get("/capacity").text
    with town.engine.connect() as db:
        kept = db.execute(select(t.capacity_determination)).mappings().one()
    assert kept["ledger"][0]["with_request"] == "0.17" and kept["by"].startswith("Dan")
    assert acts(town)[-1] == "determine on capacity"


def test_a_request_that_cannot_be_read_is_told_beside_its_field(as_person, town):
    answer = as_person("dan").get("/capacity", params={**ASKED, "flow_gpd": "much"})
    assert answer.status_code == 422 and 'id="flow_gpd-wrong"' in answer.text


def test_a_facility_has_one_name(as_person, town):
    client = as_person("ana")
    sent = {"kind": "lift station", "name": "Elm Street"}
    assert client.post("/capacity/facilities", data=sent).status_code == 303
    assert "Elm Street" in client.get("/capacity").text
    assert client.post("/capacity/facilities", data=sent).status_code == 422


def test_what_is_anothers_is_not_there_for_a_user(as_person, town):
    client = as_person("ana")
    client.post("/capacity/figures", data=PLAN)
    client.post("/shares/agreements", data={**AGREED, "user": str(user_of(town, "Bright Dairy"))})
    client = as_person("jo")
    for path in (
        "/capacity/figures/1/withdraw",
        "/shares/agreements/1/sign",
        "/shares/agreements/1/release",
    ):
        assert client.post(path, data={"why": "not mine at all"}).status_code == 404, path
    assert client.get("/shares/agreements/1/paper").status_code == 404
    assert "Bright Dairy" not in client.get("/shares").text


def test_where_documents_differ_the_page_prints_both_shares(as_person, year):
    client = as_person("ana")
    client.post("/capacity/figures", data={**PLAN, "value": "0.45"})
    page = client.get("/shares").text
    assert "9.80 % by CMAR 2025, part 3" in page and "10.89 % by Facility plan" in page
    assert "Waits for the Director" in page
