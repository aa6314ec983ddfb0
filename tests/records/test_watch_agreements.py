"""The 10 % test of all users: one whose figures cannot be worked does not stop the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Connection, Engine, insert, select

from compliance.jobs import capacity
from compliance.jobs.agreements import watch_agreements
from compliance.model.capacity import Figure, Note, Paper, What
from compliance.model.parameters import Parameter
from compliance.records import agreements, health
from compliance.records import tables as t

pytestmark = pytest.mark.database
NOW = datetime(2026, 4, 10, 15, tzinfo=UTC)
YEAR = 365


def add_city(db: Connection, slug: str, *, rulebooks: list[str]) -> int:
    city = db.scalar(
        insert(t.city)
        .values(
            slug=slug,
            name=slug.title(),
            zone="America/Chicago",
            rulebooks=rulebooks,
            control_authority="DNR",
            ordinance_authority="City",
            billing_authority="City",
        )
        .returning(t.city.c.id)
    )
    design = {"flow_mgd": "0.7", "bod5_lb_day": "1400"}
    db.execute(
        insert(t.plant).values(city_id=city, name=slug, average_design=design, source="CMAR 2025")
    )
    return int(city or 0)


def add_user(db: Connection, slug: str, *, city: int, flow: str = "70000") -> int:
    user = db.scalar(
        insert(t.industrial_user)
        .values(
            city_id=city,
            slug=slug,
            name=slug.title(),
            makes="cheese",
            is_significant=True,
            category="C",
            water_meter='2"',
        )
        .returning(t.industrial_user.c.id)
    )
    point = db.scalar(
        insert(t.monitoring_point)
        .values(industrial_user_id=user, code=f"{slug}-1", place="manhole")
        .returning(t.monitoring_point.c.id)
    )
    days = [NOW.date() - timedelta(days=n) for n in range(1, YEAR + 1)]
    flow_gal = Decimal(flow)
    db.execute(
        insert(t.day_fact),
        [
            {"monitoring_point_id": point, "day": day, "flow_gal": flow_gal, "source": "meter"}
            for day in days
        ],
    )
    return int(user or 0)


def shares(engine: Engine) -> dict[int, str]:
    c = t.trigger_fact.c
    with engine.begin() as db:
        rows = db.execute(
            select(c.industrial_user_id, c.share).where(
                c.rule_id == "prescott.service_agreement.flow"
            )
        )
        return {row.industrial_user_id: row.share for row in rows}


def faults(engine: Engine) -> list[str]:
    with engine.begin() as db:
        return [one.what for one in health.faults(db, since=NOW)]


def test_the_others_go_on_and_the_fault_is_noted_once_with_its_user(engine: Engine) -> None:
    with engine.begin() as db:
        nowhere = add_city(db, "nowhere", rulebooks=["atlantis"])
        prescott = add_city(db, "prescott", rulebooks=["prescott", "federal"])
        add_user(db, "tannery", city=nowhere)
        broken = add_user(db, "brewery", city=prescott, flow="NaN")
        sound = add_user(db, "dairy", city=prescott)
    assert watch_agreements(engine, now=NOW) == 1
    assert shares(engine) == {sound: "10.00"}
    watch_agreements(engine, now=NOW + timedelta(minutes=1))
    noted = faults(engine)
    assert len(noted) == 2
    assert "Tannery" in noted[0]
    assert f"Brewery (user {broken})" in noted[1]


def test_a_flow_beyond_all_reason_is_worked_and_printed(engine: Engine) -> None:
    with engine.begin() as db:
        prescott = add_city(db, "prescott", rulebooks=["prescott", "federal"])
        user = add_user(db, "dairy", city=prescott, flow="7e40")
    watch_agreements(engine, now=NOW)
    assert Decimal(shares(engine)[user]) == Decimal("1e37")
    assert faults(engine) == []


def events(engine: Engine) -> list[str]:
    with engine.begin() as db:
        return list(db.scalars(select(t.outbox.c.type).order_by(t.outbox.c.id)))


def test_a_crossing_is_told_once_and_not_again_the_next_day(engine: Engine) -> None:
    with engine.begin() as db:
        prescott = add_city(db, "prescott", rulebooks=["prescott", "federal"])
        add_user(db, "dairy", city=prescott)
    watch_agreements(engine, now=NOW)
    watch_agreements(engine, now=NOW + timedelta(days=1))
    assert events(engine) == ["trigger.reached"]


def test_what_one_of_two_documents_reaches_approaches_until_the_director_notes(
    engine: Engine,
) -> None:
    with engine.begin() as db:
        prescott = add_city(db, "prescott", rulebooks=["prescott", "federal"])
        user = add_user(db, "dairy", city=prescott)
    plan = Figure(
        id=0,
        facility_id=0,
        what=What.DESIGN,
        parameter=Parameter.FLOW,
        value=Decimal("0.95"),
        document="facility plan, table 2",
        paper=Paper.FACILITY_PLAN,
        dated=date(2020, 1, 1),
        entered_by="Ana",
    )
    number = capacity.add_figure(engine, prescott, plan)
    watch_agreements(engine, now=NOW)
    assert events(engine) == ["trigger.approaching"]
    site = Note(
        facility_id=0,
        parameter=Parameter.FLOW,
        figure_id=0,
        why="the plant as it stands",
        by="Dan",
        at=NOW,
    )
    capacity.govern(engine, prescott, site)
    watch_agreements(engine, now=NOW)
    assert events(engine) == ["trigger.approaching", "trigger.reached"]
    capacity.govern(engine, prescott, replace(site, figure_id=number, at=NOW + timedelta(hours=1)))
    watch_agreements(engine, now=NOW)
    assert shares(engine) == {user: "7.37"}


def test_a_coming_end_is_told_once(engine: Engine) -> None:
    with engine.begin() as db:
        prescott = add_city(db, "prescott", rulebooks=["prescott", "federal"])
        user = add_user(db, "dairy", city=prescott, flow="700")
    proposal = capacity.Proposal(
        user_id=user,
        since=date(2020, 1, 1),
        until=NOW.date() + timedelta(days=90),
        capital_percent=Decimal(12),
        conditions="pays on until it ends",
        document="Agreement of 2020",
        file=None,
    )
    number = capacity.propose(engine, proposal, by="Ana")
    watch_agreements(engine, now=NOW)
    assert events(engine) == []  # nobody has signed it
    with engine.begin() as db:
        agreement = agreements.of_user(db, user)[0]
    capacity.sign(engine, agreement, city_id=prescott, on=date(2020, 1, 1), by="Ana")
    for later in (0, 1, 2):
        watch_agreements(engine, now=NOW + timedelta(days=later))
    assert number == agreement.id
    assert events(engine) == ["agreement.on_file", "agreement.expiring"]
