"""A laboratory file is received once and judged; a quarter is billed once."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Engine, func, insert, select
from sqlalchemy.exc import IntegrityError

from app.labfiles import sheet
from compliance.errors import InsufficientData, NotFound, Refused
from compliance.jobs import bill as jobs
from compliance.jobs.receive import Receipt, receive
from compliance.model.billing import Bill
from compliance.model.periods import Period, quarter
from compliance.model.sites import Role, Viewer
from compliance.records import bills
from compliance.records import tables as t
from compliance.sampling.results import read

pytestmark = pytest.mark.database
NOW = datetime(2026, 4, 10, 15, tzinfo=UTC)
Q1 = quarter(date(2026, 1, 1))
HEADINGS = "Sample ID,Point,Collected,Sample Type,Parameter,Result,RL,Units,Start,End\n"


def add_user(db: Connection, slug: str, *, city_id: int, meter: str = '2"') -> tuple[int, int]:
    user = db.scalar(
        insert(t.industrial_user)
        .values(
            city_id=city_id,
            slug=slug,
            name=slug.title(),
            makes="cheese",
            is_significant=True,
            category="C",
            water_meter=meter,
        )
        .returning(t.industrial_user.c.id)
    )
    point = db.scalar(
        insert(t.monitoring_point)
        .values(industrial_user_id=user, code=f"{slug}-1", place="manhole")
        .returning(t.monitoring_point.c.id)
    )
    return int(user or 0), int(point or 0)


@pytest.fixture
def user(engine: Engine) -> int:
    """A cheese plant in Prescott with a quarter of water and daily flows."""
    with engine.begin() as db:
        city = db.scalar(
            insert(t.city)
            .values(
                slug="prescott",
                name="Prescott",
                zone="America/Chicago",
                rulebooks=["prescott", "federal"],
                control_authority="DNR",
                ordinance_authority="City",
                billing_authority="City",
            )
            .returning(t.city.c.id)
        )
        made, point = add_user(db, "dairy", city_id=int(city or 0))
        reads = {"from": {"on": "2026-01-01", "read": 0}, "to": {"on": "2026-04-01", "read": 9}}
        db.execute(
            insert(t.water_use).values(
                industrial_user_id=made,
                period_from=Q1.start,
                period_to=Q1.end,
                gallons=Decimal(900000),
                reads=reads,
                estimated=False,
            )
        )
        days = [Q1.start + timedelta(days=n) for n in range(Q1.days)]
        flows = [
            {"monitoring_point_id": point, "day": day, "flow_gal": 10100, "source": "meter"}
            for day in days
        ]
        db.execute(insert(t.day_fact), flows)
    return made


def send(engine: Engine, user: int, rows: str, viewer: Viewer | None = None) -> Receipt:
    content = (HEADINGS + rows).encode()
    zone = ZoneInfo("America/Chicago")
    report = read(sheet(content, filename="r.csv"), zone=zone, received_at=NOW)
    return receive(
        engine,
        report,
        content,
        filename="r.csv",
        industrial_user_id=user,
        viewer=viewer,
        now=NOW,
        release="test",
    )


def count(engine: Engine, table: str) -> int:
    with engine.begin() as db:
        return db.scalar(select(func.count()).select_from(t.metadata.tables[table])) or 0


def composite(day: int, results: dict[str, str]) -> str:
    span = f"2026-02-{day:02} 00:00,2026-02-{day:02} 24:00"
    return "".join(
        f"C-{day},dairy-1,,composite,{name},{value},,mg/L,{span}\n"
        for name, value in results.items()
    )


FULL = {"CBOD5": "412", "TSS": "150", "TKN": "50", "Total Phosphorus": "14"}


def test_petroleum_oil_over_25_in_a_grab_becomes_one_detection(engine: Engine, user: int) -> None:
    rows = (
        "G-1,dairy-1,2026-02-03 09:00,grab,SGT-HEM,25.1,5,mg/L,,\n"
        "G-2,dairy-1,2026-02-04 09:00,grab,SGT-HEM,25,5,mg/L,,\n"
        "G-3,dairy-1,2026-02-05 09:00,grab,HEM,131,5,mg/L,,\n"
        "G-4,dairy-1,2026-02-06 09:00,composite,SGT-HEM,200,5,mg/L,,\n"
        "G-5,dairy-1,2026-02-07 09:00,grab,SGT-HEM,ND,,mg/L,,\n"
    )
    first = send(engine, user, rows)
    assert [one.row for one in first.judged if one.detection_id] == [2]
    assert (first.stored, len(first.rejected), first.is_new) == (4, 1, True)
    second = send(engine, user, rows)
    assert (second.upload_id, second.judged) == (first.upload_id, first.judged)
    assert (count(engine, "detection"), count(engine, "result")) == (1, 4)
    with engine.begin() as db:
        told = [row.type for row in db.execute(select(t.outbox).order_by(t.outbox.c.id))]
    assert told == ["exceedance.started", "violation.detected", "results.received"]


def test_a_changed_result_of_a_known_sample_is_held(engine: Engine, user: int) -> None:
    send(engine, user, "L-1,dairy-1,2026-03-05 08:00,grab,CBOD,612,,mg/L,,\n")
    found = send(engine, user, "L-1,dairy-1,2026-03-05 08:00,grab,CBOD,216,,mg/L,,\n")
    assert found.stored == 0
    assert "612" in found.held[0]
    again = send(engine, user, "L-1,dairy-1,2026-03-05 08:00,grab,CBOD,612.0,,mg/L,,\n")
    assert not again.held


def test_impossible_rows_are_faults_and_the_good_one_is_stored(engine: Engine, user: int) -> None:
    point = "dairy-1"
    found = send(
        engine,
        user,
        f"H-1,{point},2026-02-03 09:00,grab,SGT-HEM,1e309,,mg/L,,\n"
        f"H-2,{point},2026-02-03 09:00,grab,SGT-HEM,1e-400,,mg/L,,\n"
        f"H-3,{point},9999-12-31,grab,SGT-HEM,30,,mg/L,,\n"
        f"H-4,{point},0001-01-01,grab,SGT-HEM,30,,mg/L,,\n"
        f"H-5,{point},2026-04-11,grab,SGT-HEM,30,,mg/L,,\n"
        f"{'x' * 3000},{point},2026-02-03 09:00,grab,SGT-HEM,30,,mg/L,,\n"
        f"H\0,{point},2026-02-03 09:00,grab,SGT-HEM,30,,mg/L,,\n"
        f"G-1,{point},2026-02-03 09:00,grab,SGT-HEM,30,,mg/L,,\n",
    )
    assert [fault.split(",")[0] for fault in found.rejected] == [f"row {n}" for n in range(2, 9)]
    assert (found.stored, count(engine, "detection")) == (1, 1)


def test_a_row_of_anothers_point_is_held_and_anothers_file_refused(
    engine: Engine, user: int
) -> None:
    found = send(engine, user, "L-1,brewery-1,2026-03-05 08:00,grab,CBOD,612,,mg/L,,\n")
    assert found.stored == 0
    assert "brewery-1" in found.held[0]
    other = Viewer(
        person_id=1, name="x", role=Role.INDUSTRIAL_USER, city_id=None, industrial_user_id=user + 1
    )
    with pytest.raises(Refused):
        send(engine, user, "L-2,dairy-1,2026-03-05 08:00,grab,CBOD,612,,mg/L,,\n", other)
    assert count(engine, "upload") == 1


def test_a_quarter_is_billed_once_and_shows_its_working(engine: Engine, user: int) -> None:
    send(engine, user, composite(3, FULL))
    shown = jobs.preview(engine, city="prescott", period=Q1, now=NOW)
    assert count(engine, "bill") == 0
    done = jobs.run(engine, city="prescott", period=Q1, now=NOW)
    made = done.of("issued")[0]
    # 15 × 3 + 900 × 10 + 0.9 × 8.34 × (212 × 0.22 + 2 × 6.52), each line rounded
    assert made.total == Decimal("9492.96") == shown.of("ready")[0].total
    again = jobs.run(engine, city="prescott", period=Q1, now=NOW)
    assert again.of("standing")[0].number == made.number
    assert (count(engine, "bill"), count(engine, "bill_line")) == (1, 6)
    with engine.begin() as db:
        stored = db.execute(select(t.bill)).one()
        assert stored.due_on == date(2026, 5, 10)
        assert any("Pounds per million gallons" in note for note in stored.notes)
        volume = db.scalar(select(t.bill_line.c.working).where(t.bill_line.c.code == "volume"))
    assert any("discharge meter showed 909,000 gal, 9,000 gal more" in line for line in volume)


def test_a_line_keeps_the_samples_from_which_its_mean_can_be_made_again(
    engine: Engine, user: int
) -> None:
    send(engine, user, composite(3, FULL))
    jobs.run(engine, city="prescott", period=Q1, now=NOW)
    with engine.begin() as db:
        lines = {row.code: row for row in db.execute(select(t.bill_line))}
    samples = [row.samples for row in lines.values() if row.samples]
    assert len(samples) == 4
    for (one,) in samples:
        assert one["day"] == "2026-02-03" and one["flow_gal"] and not one["non_detect"]
    assert sorted(Decimal(one["mg_l"]) for (one,) in samples) == sorted(
        Decimal(row.working[0].partition(": ")[2].removesuffix(" mg/L").replace(",", ""))
        for row in lines.values()
        if row.samples
    )


def test_an_account_that_lacks_something_is_blocked_and_the_run_goes_on(
    engine: Engine, user: int
) -> None:
    send(engine, user, composite(3, FULL))
    with engine.begin() as db:
        city = db.scalar(select(t.city.c.id))
        add_user(db, "brewery", city_id=int(city or 0))
    done = jobs.run(engine, city="prescott", period=Q1, now=NOW)
    assert [(one.user, one.state) for one in done.outcomes] == [
        ("brewery", "blocked"),
        ("dairy", "issued"),
    ]
    assert "metered water" in str(done.of("blocked")[0].why)


def test_a_grab_is_no_measure_of_a_period(engine: Engine, user: int) -> None:
    send(engine, user, composite(3, FULL).replace("composite", "grab"))
    done = jobs.run(engine, city="prescott", period=Q1, now=NOW)
    assert "no accepted result" in str(done.of("blocked")[0].why)


def test_a_period_that_has_not_ended_and_an_unknown_city_are_refused(
    engine: Engine, user: int
) -> None:
    with pytest.raises(InsufficientData):
        jobs.run(engine, city="prescott", period=quarter(date(2026, 4, 1)), now=NOW)
    with pytest.raises(NotFound):
        jobs.run(engine, city="atlantis", period=Q1, now=NOW)


def test_the_database_forbids_two_bills_for_one_day(engine: Engine, user: int) -> None:
    def put(number: str, period: Period) -> None:
        with engine.begin() as db:
            made = Bill(period=period, tariff="t", tariff_sha256="s", lines=())
            bills.put(db, made, industrial_user_id=user, number=number, state="issued", now=NOW)

    put("1", Q1)
    put("2", quarter(date(2026, 4, 1)))
    with pytest.raises(IntegrityError):
        put("3", Period(start=date(2026, 3, 31), end=date(2026, 4, 2)))
