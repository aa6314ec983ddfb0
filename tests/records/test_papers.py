"""Papers that bind a user: judged by the path of the ordinance, each on its own, by their days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, insert, select

from app.labfiles import sheet
from compliance.errors import InputError, Refused
from compliance.jobs import stack
from compliance.jobs.control_document import parse
from compliance.jobs.controls import Became, Report, enter, withdraw
from compliance.jobs.decide import open_violation
from compliance.jobs.evaluate import Which, evaluate
from compliance.jobs.receive import receive
from compliance.records import audit, control, dirt, sites
from compliance.records import tables as t
from compliance.sampling.results import read
from tests.support.manhole import AT, Manhole, manhole

pytestmark = pytest.mark.database
NOW = AT + timedelta(days=40)
LIMIT = {"part": "part 2", "point": "MH-1", "parameter": "ph", "unit": "s.u."}


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return manhole(engine)


def permit(**changed: Any) -> dict[str, Any]:
    return {
        "number": "P-12",
        "user": "acme",
        "class": "SIU",
        "effective": date(2026, 1, 1),
        "ended": date(2031, 1, 1),
        "issued_by": "Dan Moe",
        "office": "Director",
        "limits": [{**LIMIT, "at_least": "6.5", "at_most": "8.5"}],
        **changed,
    }


def entered(mh: Manhole, **lists: Any) -> Report:
    papers = parse(yaml.safe_dump(lists), file="permits.yaml")
    done = enter(mh.engine, papers, by="Ana Ruiz, Coordinator", now=NOW, release="test")
    while waiting(mh):
        evaluate(mh.engine, now=NOW, release="test", which=Which.RULED)
    return done


def waiting(mh: Manhole) -> int:
    with mh.engine.connect() as db:
        return len(db.execute(select(t.dirty.c.id).where(t.dirty.c.why == dirt.RULED)).all())


def found(mh: Manhole) -> list[tuple[str, str, str, str]]:
    """Standing facts: rule, limit, authority, worst."""
    e = t.exceedance.c
    with mh.engine.connect() as db:
        rows = db.execute(
            select(e.rule_id, e.limit, e.authority, e.worst)
            .where(e.superseded_at.is_(None))
            .order_by(e.starts_at, e.rule_id)
        )
        return [tuple(row) for row in rows]


def detections(mh: Manhole) -> dict[str, int]:
    with mh.engine.connect() as db:
        rows = db.execute(select(t.exceedance.c.rule_id, t.detection.c.id).join_from(
            t.detection, t.exceedance))  # fmt: skip
        return {row.rule_id: row.id for row in rows}


def minutes(mh: Manhole, *values: float, day: int = 0, worker: str = "w") -> None:
    """Readings of pH a minute apart, and an end that complies."""
    every = {n: v for n, v in enumerate((7.2, *values, 7.2))}
    mh.put(every, start=AT + timedelta(days=day), worker=worker)
    mh.judge(after=40 * 1440)


def test_a_stricter_permit_gives_its_own_finding_beside_that_of_the_ordinance(mh: Manhole) -> None:
    entered(mh, permits=[permit()])
    minutes(mh, 8.7, 9.4)
    assert found(mh) == [
        ("permit.p_12.ph.at_mh_1", "8.5", "permit", "9.40"),
        ("prescott.ph", "9.0", "ordinance", "9.40"),
    ]
    assert set(detections(mh)) == {"permit.p_12.ph.at_mh_1", "prescott.ph"}
    with mh.engine.connect() as db:
        evidence = db.scalars(select(t.exceedance.c.evidence)).all()
    for one in evidence:
        standing = {each["rule"]: each["strictest"] for each in one["stack"]}
        assert standing == {
            "prescott.ph": False, "federal.ph_floor": False, "permit.p_12.ph.at_mh_1": True,
        }  # fmt: skip


def test_a_permit_entered_late_judges_the_past_from_its_first_day_on(mh: Manhole) -> None:
    minutes(mh, 8.8, day=-1, worker="a")
    minutes(mh, 8.8, day=1, worker="b")
    assert found(mh) == []
    done = entered(mh, permits=[permit(effective=date(2026, 7, 7))])
    assert done.marked == 1
    assert [one[0] for one in found(mh)] == ["permit.p_12.ph.at_mh_1"]


def test_an_expired_permit_has_no_limit_in_force(mh: Manhole) -> None:
    entered(mh, permits=[permit(effective=date(2021, 7, 6), ended=date(2026, 7, 6))])
    minutes(mh, 8.8, day=-1, worker="a")
    minutes(mh, 8.8, day=0, worker="b")
    assert len(found(mh)) == 1
    with mh.engine.connect() as db:
        bound = stack.rules_of(db, sites.places(db)[mh.ph])
        told = stack.considered(bound, date(2026, 7, 6))
    assert {one["rule"]: one["in_force"] for one in told}["permit.p_12.ph.at_mh_1"] is False


def test_the_same_document_again_changes_nothing(mh: Manhole) -> None:
    assert [one.became for one in entered(mh, permits=[permit()]).entered] == [Became.NEW]
    again = entered(mh, permits=[permit()])
    assert [(one.became, one.version) for one in again.entered] == [(Became.SAME, 1)]
    with mh.engine.connect() as db:
        assert len(control.every(db)) == 1
        acts = [one.act for one in audit.entries(db)]
        assert audit.verify(db).first_bad is None
    assert acts.count("enter papers that bind") == 1


def test_a_changed_permit_is_a_new_version_and_withdraws_what_it_no_longer_finds(
    mh: Manhole,
) -> None:
    entered(mh, permits=[permit()])
    minutes(mh, 8.8)
    assert len(found(mh)) == 1
    wider = permit(limits=[{**LIMIT, "at_least": "6.5", "at_most": "8.9"}])
    assert [one.version for one in entered(mh, permits=[wider]).entered] == [2]
    assert found(mh) == []
    with mh.engine.connect() as db:
        kept = [one.control.limits[0].at_most for one in control.every(db)]
    assert [str(one) for one in kept] == ["8.5", "8.9"]
    entered(mh, permits=[permit(limits=[])])
    assert found(mh) == []


def test_a_later_version_holds_from_its_own_day_on(mh: Manhole) -> None:
    entered(mh, permits=[permit()])
    amended = permit(
        effective=date(2026, 7, 8), limits=[{**LIMIT, "at_least": "6.5", "at_most": "8.9"}]
    )
    entered(mh, permits=[amended])
    minutes(mh, 8.8, day=0, worker="a")
    minutes(mh, 8.8, day=4, worker="b")
    assert [one[1] for one in found(mh)] == ["8.5"]


def test_other_kinds_of_paper_speak_with_their_own_authority(mh: Manhole) -> None:
    limits = [{**LIMIT, "at_most": "8.5"}]
    plain = {key: value for key, value in permit(limits=limits).items() if key != "class"}
    agreement = {**plain, "conditions": ["no harm was found"] * 3}
    entered(
        mh,
        orders=[plain],
        agreements=[agreement],
        screening_values=[plain],
        notification_limits=[plain],
    )
    minutes(mh, 8.8)
    assert [(one[0].split(".")[0], one[2]) for one in found(mh)] == [
        ("agreement", "agreement"),
        ("notification", "program"),
        ("order", "director"),
        ("screening", "program"),
    ]
    assert {rule.split(".")[0] for rule in detections(mh)} == {"agreement", "order"}


def test_a_limit_that_is_not_enforceable_only_screens(mh: Manhole) -> None:
    limit = {**LIMIT, "at_most": "8.5", "enforceable": False}
    entered(mh, permits=[permit(limits=[limit])])
    minutes(mh, 8.8)
    assert [one[2] for one in found(mh)] == ["program"]
    assert detections(mh) == {}


def test_an_average_is_not_judged_reading_by_reading(mh: Manhole) -> None:
    limit = {"parameter": "flow", "unit": "gpm", "at_most": "1", "basis": "monthly_avg"}
    entered(mh, permits=[permit(limits=[limit])])
    mh.put({n: 50.0 for n in range(5)}, channel=mh.flow)
    mh.judge(after=2000)
    assert found(mh) == []


LAB = (
    "Sample ID,Point,Collected,Sample Type,Parameter,Result,RL,Units,Start,End\n"
    "S-1,MH-1,,Composite,Zinc,{zinc},0.01,mg/L,2026-02-02 08:00,2026-02-03 08:00\n"
)
ZINC = {"parameter": "zinc", "unit": "mg/L", "at_most": "2.61", "basis": "daily_max",
        "sample_type": "composite"}  # fmt: skip


def send(mh: Manhole, zinc: str) -> None:
    content = LAB.format(zinc=zinc).encode()
    zone = ZoneInfo("America/Chicago")
    report = read(sheet(content, filename="lab.csv"), zone=zone, received_at=NOW)
    with mh.engine.connect() as db:
        user_id = control.user(db, "acme")[0]
    receive(
        mh.engine, report, content, filename="lab.csv", industrial_user_id=user_id, viewer=None,
        now=NOW, release="test",
    )  # fmt: skip


def test_a_result_is_judged_by_the_permit_before_and_after_it_is_entered(mh: Manhole) -> None:
    entered(mh, permits=[permit(limits=[ZINC])])
    send(mh, "2.70")
    first = found(mh)
    assert first == [("permit.p_12.zinc.daily_max", "2.61", "permit", "2.70")]
    entered(mh, permits=[permit(limits=[{**ZINC, "at_most": "3.0"}])])
    assert found(mh) == []
    entered(mh, permits=[permit(limits=[ZINC])])
    assert found(mh) == first
    assert mh.count("exceedance") == 1


def test_a_permit_entered_after_the_results_judges_them(mh: Manhole) -> None:
    send(mh, "2.70")
    assert found(mh) == []
    assert entered(mh, permits=[permit(limits=[ZINC])]).results == 1
    assert [one[1] for one in found(mh)] == ["2.61"]
    assert entered(mh, permits=[permit(limits=[{**ZINC, "unit": "lb/day"}])]).results == 1
    assert found(mh) == []


APPROVAL = {
    "rule": "prescott.temperature", "user": "acme", "effective": date(2026, 7, 1), "unit": "degF",
    "at_most": "160", "author": "Dan Moe", "office": "Director", "reason": "boiler overhaul",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rule": "prescott.ph", "unit": "s.u."}, "cannot be lifted: its text gives no power"),
        ({"rule": "federal.ph_floor", "unit": "s.u."}, "no local act lifts it"),
        ({"rule": "permit.p_12.ph", "unit": "s.u."}, "no approval lifts a limit of a permit"),
        ({"rule": "monona.temperature"}, "no rulebook that binds there has this rule"),
        ({"rule": "prescott.nothing"}, "no rulebook that binds there has this rule"),
        ({"unit": "degC"}, "the unit is degC, expected degF"),
        ({"at_most": None}, "names no value"),
        ({"ended": date(2026, 7, 1)}, "expected a day after it begins"),
    ],
)
def test_an_approval_that_no_text_allows_is_refused(
    mh: Manhole, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        entered(mh, approvals=[{**APPROVAL, **changed}])
    assert mh.count("approval") == 0


def heat(mh: Manhole) -> int:
    """A channel of temperature at the manhole; its number."""
    with mh.engine.begin() as db:
        point = db.scalar(select(t.monitoring_point.c.id))
        channel = db.scalar(
            insert(t.channel)
            .values(monitoring_point_id=point, entry="heat", parameter="temperature", unit="degF",
                    resolution="0.1")
            .returning(t.channel.c.id)
        )  # fmt: skip
        since = datetime(2020, 1, 1, tzinfo=UTC)
        cadence = {"channel_id": channel, "since": since, "interval_ms": 60_000}
        db.execute(insert(t.channel_cadence).values(**cadence))
        db.execute(insert(t.counting).values(channel_id=channel, since=since, by="Ana", how="seen"))
    return int(channel or 0)


def hot(mh: Manhole, worst: float) -> None:
    mh.put({0: 100.0, 1: worst, 2: 100.0}, channel=heat(mh))
    mh.judge(after=2000)


def opened(mh: Manhole, rule: str, **said: bool) -> str:
    return open_violation(
        mh.engine, detection_id=detections(mh)[rule], viewer=mh.coordinator,
        reason="the boiler was hot", capacity="Coordinator", now=NOW, **said,
    )  # fmt: skip


def test_an_approved_exceedance_stays_and_is_not_opened_without_saying_so(mh: Manhole) -> None:
    stricter = {"parameter": "temperature", "unit": "degF", "at_most": "140"}
    entered(mh, approvals=[APPROVAL], permits=[permit(limits=[stricter])])
    hot(mh, 155.0)
    assert [one[0] for one in found(mh)] == ["permit.p_12.temperature", "prescott.temperature"]
    with pytest.raises(Refused, match="approved by Dan Moe, Director"):
        opened(mh, "prescott.temperature")
    assert opened(mh, "permit.p_12.temperature").endswith("0001")
    opened(mh, "prescott.temperature", despite_approval=True)
    with mh.engine.connect() as db:
        reasons = db.scalars(select(t.violation.c.reason).order_by(t.violation.c.id)).all()
    assert reasons[0] == "the boiler was hot"
    assert "Opened although approved by Dan Moe, Director (approval 1)" in reasons[1]


def test_what_lies_over_the_approved_value_or_after_it_is_not_approved(mh: Manhole) -> None:
    entered(mh, approvals=[APPROVAL])
    hot(mh, 161.0)
    assert opened(mh, "prescott.temperature")


def test_a_withdrawn_approval_lifts_nothing_from_that_day_on(mh: Manhole) -> None:
    entered(mh, approvals=[APPROVAL])
    hot(mh, 155.0)
    withdraw(mh.engine, 1, on=date(2026, 7, 6), by="Dan", why="the boiler is mended")
    assert opened(mh, "prescott.temperature")


def everything(mh: Manhole) -> list[dict[str, Any]]:
    with mh.engine.connect() as db:
        rows = db.execute(select(t.exceedance).order_by(t.exceedance.c.id)).mappings()
        return [dict(row) for row in rows]


def test_an_approval_changes_no_finding_whatever_it_says(mh: Manhole) -> None:
    stricter = {"parameter": "temperature", "unit": "degF", "at_most": "140"}
    entered(mh, permits=[permit(limits=[stricter, {**LIMIT, "at_most": "8.5"}])])
    minutes(mh, 9.4, 4.2)
    hot(mh, 155.0)
    before = everything(mh)
    assert {one["rule_id"] for one in before} == {
        "federal.ph_floor", "prescott.ph", "prescott.temperature",
        "permit.p_12.ph.at_mh_1", "permit.p_12.temperature",
    }  # fmt: skip

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(high=st.integers(100, 300), begin=st.integers(-40, 40), days=st.integers(1, 400))
    def holds(high: int, begin: int, days: int) -> None:
        since = date(2026, 7, 6) + timedelta(days=begin)
        span = {"effective": since, "ended": since + timedelta(days=days)}
        entered(mh, approvals=[{**APPROVAL, "at_most": str(high), **span}])
        mh.judge(after=50 * 1440)
        assert everything(mh) == before

    holds()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ended": date(2031, 1, 2)}, "expected a day up to 2031-01-01"),
        ({"ended": None}, "5 years at most"),
        ({"class": None}, "has no class"),
        ({"class": "BIG"}, "class"),
        ({"user": "nobody"}, "no user 'nobody' here"),
        ({"number": "§"}, "no letter or digit"),
        ({"limits": [{**LIMIT, "at_most": "8.5", "point": "MH-9"}]}, "expected one of MH-1"),
        ({"limits": [{**LIMIT, "at_most": 8.5}]}, "must be a number in quotes"),
        ({"limits": [LIMIT]}, "neither at_least nor at_most"),
        ({"limits": [{**LIMIT, "at_least": "9", "at_most": "6"}]}, "exchange them"),
        ({"limits": [{**LIMIT, "at_most": "1e99"}]}, "is no limit"),
        ({"limits": [{**LIMIT, "unit": "mg/L", "at_most": "9"}]}, "expected a unit of ph"),
        ({"limits": [{**LIMIT, "basis": "hourly", "at_most": "9"}]}, "basis is 'hourly'"),
        ({"limits": [{**LIMIT, "sample_type": "jug", "at_most": "9"}]}, "sample type is 'jug'"),
        ({"limits": [{**LIMIT, "at_most": "9"}] * 2}, "twice"),
        ({"limits": [{**LIMIT, "at_most": "9", "nonsense": 1}]}, "nonsense is not known here"),
        ({"issued_by": ""}, "issued_by"),
    ],
)
def test_a_permit_that_cannot_be_is_refused_in_a_sentence(
    mh: Manhole, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(Exception, match=said) as refused:
        entered(mh, permits=[permit(**changed)])
    assert "\n" not in str(refused.value)
    assert mh.count("control") == 0


def test_an_agreement_needs_its_three_conditions_and_changes_no_rate(mh: Manhole) -> None:
    plain = {key: value for key, value in permit(limits=[]).items() if key != "class"}
    with pytest.raises(InputError, match="records 0 conditions, expected three"):
        entered(mh, agreements=[plain])
    agreed = {**plain, "conditions": ["no harm was found"] * 3}
    with pytest.raises(InputError, match="leaves rates and tariff as they are"):
        entered(mh, agreements=[{**agreed, "rate": "0.10"}])
    assert len(entered(mh, agreements=[agreed]).entered) == 1


def test_a_number_that_is_another_users_is_refused(mh: Manhole) -> None:
    entered(mh, permits=[permit()])
    with mh.engine.begin() as db:
        city = db.scalar(select(t.city.c.id))
        db.execute(
            insert(t.industrial_user).values(
                city_id=city, slug="dairy", name="Dairy", makes="cheese", is_significant=True,
                category="C", water_meter="2",
            )
        )  # fmt: skip
    with pytest.raises(InputError, match="is another user's already"):
        entered(mh, permits=[permit(user="dairy", limits=[])])
