"""Averages and pounds become facts, are superseded like all facts, and rest on named results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from sqlalchemy import Engine, delete, insert, select, update

from app.labfiles import sheet
from compliance.jobs import averages
from compliance.jobs.control_document import parse
from compliance.jobs.controls import enter
from compliance.jobs.explain import explain
from compliance.jobs.receive import receive
from compliance.records import samples
from compliance.records import tables as t
from compliance.records.scope import Scope
from compliance.sampling.results import read
from tests.support.manhole import Manhole, manhole

pytestmark = pytest.mark.database
NOW = datetime(2026, 4, 10, 15, tzinfo=UTC)
ZINC = {"part": "part 2", "point": "MH-1", "parameter": "zinc", "unit": "mg/L"}
ALL = Scope(city_id=None, industrial_user_id=None)
HEADINGS = "Sample ID,Point,Collected,Sample Type,Parameter,Result,Units\n"


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    return manhole(engine)


def bind(mh: Manhole, *limits: dict[str, Any], effective: date = date(2026, 1, 1)) -> None:
    permit = {
        "number": "P-12", "user": "acme", "class": "SIU", "effective": effective,
        "ended": date(2031, 1, 1), "issued_by": "Dan Moe", "office": "Director",
        "limits": [{**ZINC, **one} for one in limits],
    }  # fmt: skip
    enter(
        mh.engine, parse(yaml.safe_dump({"permits": [permit]}), file="p.yaml"),
        by="Ana Ruiz, Coordinator", now=NOW, release="test",
    )  # fmt: skip


def send(mh: Manhole, *rows: tuple[str, str, str], now: datetime = NOW) -> None:
    """Rows: sample, day, zinc in mg/L; grabs."""
    lines = [f"{name},MH-1,{day},grab,Zinc,{zinc},mg/L\n" for name, day, zinc in rows]
    content = (HEADINGS + "".join(lines)).encode()
    report = read(sheet(content, filename="r.csv"), zone=ZoneInfo("America/Chicago"))
    with mh.engine.connect() as db:
        user = db.scalar(select(t.industrial_user.c.id).where(t.industrial_user.c.slug == "acme"))
    receive(
        mh.engine, report, content, filename="r.csv", industrial_user_id=int(user or 0),
        viewer=None, now=now, release="test",
    )  # fmt: skip


def flows(mh: Manhole, gallons: Mapping[str, Decimal | None]) -> None:
    with mh.engine.begin() as db:
        point = db.scalar(
            select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == "MH-1")
        )
        db.execute(
            insert(t.day_fact),
            [
                {"monitoring_point_id": point, "day": date.fromisoformat(day), "flow_gal": flow,
                 "source": "meter"}
                for day, flow in gallons.items()
            ],
        )  # fmt: skip


def standing(mh: Manhole) -> list[tuple[str, str, str, str]]:
    """Facts that stand: kind, rule, worst, limit."""
    e = t.exceedance.c
    with mh.engine.connect() as db:
        rows = db.execute(
            select(e.kind, e.rule_id, e.worst, e.limit)
            .where(e.superseded_at.is_(None))
            .order_by(e.kind, e.rule_id, e.starts_at)
        )
        return [tuple(row) for row in rows]


def evidence(mh: Manhole, kind: str) -> Any:
    with mh.engine.connect() as db:
        return db.scalars(
            select(t.exceedance.c.evidence).where(t.exceedance.c.kind == kind)
        ).all()[0]  # fmt: skip


MONTH = "permit.p_12.zinc.monthly_avg.at_mh_1"


def test_one_sample_in_a_month_is_its_average_and_a_daily_pass_cures_nothing(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"}, {"basis": "daily_max", "at_most": "2.61"})
    send(mh, ("A", "2026-03-05", "2.00"))
    assert standing(mh) == [("average", MONTH, "2.00", "1.48")]
    with mh.engine.connect() as db:
        (detection,) = db.execute(select(t.detection.c.state)).all()
    assert detection.state == "detected"


def test_an_average_is_reached_again_and_is_not_where_a_result_was_changed(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"})
    send(mh, ("A", "2026-03-05", "2.00"), ("B", "2026-03-09", "1.10"))
    with mh.engine.begin() as db:
        name = str(db.scalar(select(t.exceedance.c.id)))
        assert explain(db, ALL, name).agrees is True
        db.execute(update(t.result).where(t.result.c.value == 2).values(value=3, written="3.00"))
        found = explain(db, ALL, name)
    assert found.agrees is False
    assert [(one.what, one.kept, one.again) for one in found.differs] == [("worst", "1.55", "2.05")]


def test_a_month_is_not_judged_before_it_has_ended(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"})
    early = datetime(2026, 3, 20, 15, tzinfo=UTC)
    send(mh, ("A", "2026-03-05", "2.00"), now=early)
    assert standing(mh) == []
    averages.watch(mh.engine, now=datetime(2026, 4, 1, 4, 59, tzinfo=UTC), release="test")
    assert standing(mh) == []
    averages.watch(mh.engine, now=datetime(2026, 4, 1, 5, tzinfo=UTC), release="test")
    assert standing(mh) == [("average", MONTH, "2.00", "1.48")]


def test_a_later_result_supersedes_and_the_same_again_changes_nothing(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"})
    send(mh, ("A", "2026-03-05", "2.00"))
    send(mh, ("B", "2026-03-09", "1.10"))
    assert standing(mh) == [("average", MONTH, "1.55", "1.48")]
    send(mh, ("C", "2026-03-12", "<0.05"))
    assert standing(mh) == []
    before = _history(mh)
    averages.watch(mh.engine, now=NOW + timedelta(days=1), release="test")
    assert _history(mh) == before == 2
    with mh.engine.connect() as db:
        why = db.scalar(select(t.exceedance.c.superseded_why))
    assert why == averages.GONE


def _history(mh: Manhole) -> int:
    with mh.engine.connect() as db:
        return len(db.execute(select(t.exceedance_history.c.id)).all())


def test_the_evidence_names_what_was_used_and_left_out_and_the_policy(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48", "sample_type": ["composite"]})
    lines = "C1,MH-1,2026-03-05,composite,Zinc,4.00,mg/L\nC2,MH-1,2026-03-06,comp,Zinc,<0.1,mg/L\n"
    lines += "G,MH-1,2026-03-07,grab,Zinc,9.9,mg/L\n"
    report = read(sheet((HEADINGS + lines).encode(), filename="r.csv"), zone=ZoneInfo("UTC"))
    receive(
        mh.engine, report, lines.encode(), filename="r.csv", industrial_user_id=1, viewer=None,
        now=NOW, release="test",
    )  # fmt: skip
    assert standing(mh) == [("average", MONTH, "2.00", "1.48")]
    told = evidence(mh, "average")
    assert [one["result"] for one in told["results"]] == ["4.00 mg/L", "<0.1 mg/L"]
    assert told["left_out"] == [
        {"sample": "G", "result": "9.9 mg/L", "reason": "not taken into it: a grab sample"}
    ]
    assert told["policy"]["adopted"].endswith("not adopted")
    assert any("counted as zero" in line for line in told["working"])


def test_pounds_of_a_day_wait_for_its_water_and_missing_is_not_zero(mh: Manhole) -> None:
    bind(mh, {"basis": "mass_day", "unit": "lb/day", "at_most": "0.50"})
    send(mh, ("A", "2026-03-05", "2.00"), ("B", "2026-03-06", "2.00"))
    assert standing(mh) == []
    flows(mh, {"2026-03-05": Decimal(40000), "2026-03-06": None})
    averages.watch(mh.engine, now=NOW, release="test")
    assert standing(mh) == [("mass", "permit.p_12.zinc.mass_day.at_mh_1", "0.67", "0.50")]
    told = evidence(mh, "mass")
    assert told["results"][0]["lb_day"] == "0.67"
    assert told["left_out"][0]["reason"].endswith("no volume is on record for 2026-03-06")


def test_a_month_in_pounds_needs_the_water_of_all_its_days(mh: Manhole) -> None:
    bind(mh, {"basis": "mass_month", "unit": "lb", "at_most": "20"})
    send(mh, ("A", "2026-03-05", "2.00"), ("B", "2026-03-06", "2.00"))
    days = {f"2026-03-{day:02d}": Decimal(40000) for day in range(1, 31)}
    flows(mh, days)
    averages.watch(mh.engine, now=NOW, release="test")
    assert standing(mh) == []
    flows(mh, {"2026-03-31": Decimal(40000)})
    averages.watch(mh.engine, now=NOW, release="test")
    assert standing(mh) == [("mass", "permit.p_12.zinc.mass_month.at_mh_1", "20.68", "20")]


def test_four_monitoring_days_need_four(mh: Manhole) -> None:
    bind(mh, {"basis": "average_4_days", "at_most": "1.0"})
    send(mh, ("A", "2026-01-05", "2"), ("B", "2026-02-05", "2"), ("C", "2026-03-05", "2"))
    assert standing(mh) == []
    send(mh, ("D", "2026-03-09", "0.4"))
    name = "permit.p_12.zinc.average_4_days.at_mh_1"
    assert standing(mh) == [("average", name, "1.60", "1.0")]


def test_a_result_that_counts_no_more_withdraws_the_average(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"})
    send(mh, ("A", "2026-03-05", "2.00"))
    with mh.engine.begin() as db:
        measured = samples.measured_days(db, since=date(2026, 3, 1))
        db.execute(delete(t.result))
        averages.judge(db, measured, now=NOW, release="test")
    assert standing(mh) == []


def test_a_permit_entered_after_the_results_judges_their_average(mh: Manhole) -> None:
    send(mh, ("A", "2026-03-05", "2.00"))
    assert standing(mh) == []
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"})
    assert standing(mh) == [("average", MONTH, "2.00", "1.48")]
    bind(mh, {"basis": "monthly_avg", "at_most": "2.0"})
    assert standing(mh) == []


def test_a_limit_takes_no_results_from_before_it(mh: Manhole) -> None:
    bind(mh, {"basis": "monthly_avg", "at_most": "1.48"}, effective=date(2026, 3, 10))
    send(mh, ("A", "2026-03-05", "9.00"), ("B", "2026-03-12", "1.00"))
    assert standing(mh) == []


def test_the_water_of_a_composite_is_that_of_its_own_time(mh: Manhole) -> None:
    """Eight hours at 100 gpm are 48,000 gal, whatever the day's record says: 0.80 lb of 2 mg/L."""
    bind(mh, {"basis": "mass_day", "unit": "lb/day", "at_most": "0.75"})
    start = datetime(2026, 3, 5, 14, tzinfo=UTC)
    mh.put(dict.fromkeys(range(481), 100.0), channel=mh.flow, start=start)
    flows(mh, {"2026-03-05": Decimal(1)})
    heading = "Sample ID,Point,Start,End,Sample Type,Parameter,Result,Units\n"
    row = "S,MH-1,2026-03-05 08:00,2026-03-05 16:00,composite,Zinc,2.00,mg/L\n"
    zone = ZoneInfo("America/Chicago")
    report = read(sheet((heading + row).encode(), filename="r.csv"), zone=zone)
    receive(
        mh.engine, report, row.encode(), filename="r.csv", industrial_user_id=1, viewer=None,
        now=NOW, release="test",
    )  # fmt: skip
    assert standing(mh) == [("mass", "permit.p_12.zinc.mass_day.at_mh_1", "0.80", "0.75")]
    told = evidence(mh, "mass")["results"][0]
    assert (told["gallons"], told["volume"]) == ("48000.0", "by meter in the composite's own time")
