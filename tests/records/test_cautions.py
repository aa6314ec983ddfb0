"""A flagged composite is told before a bill stands on it; a sound one is not mentioned."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, insert

from app import uploads
from app.labfiles import sheet
from compliance.jobs import bill
from compliance.jobs.receive import receive
from compliance.model.periods import local_day, quarter
from compliance.records import days, samplers
from compliance.records import tables as t
from compliance.sampling.results import read
from compliance.sampling.sheets import LabReport
from tests.support.manhole import Manhole, manhole

pytestmark = pytest.mark.database

ZONE = ZoneInfo("America/Chicago")
Q1 = quarter(date(2026, 1, 1))
NOW = datetime(2026, 4, 10, 15, tzinfo=UTC)
FLAGGED, SOUND = date(2026, 2, 3), date(2026, 2, 4)
FAULT = "18 aliquots for 24 due by the water that passed"
HEADINGS = "Sample ID,Point,Sample Type,Parameter,Result,RL,Units,Start,End\n"


def taken(day: date, *faults: str) -> samplers.Taken:
    window = local_day(day, ZONE)
    return samplers.Taken(
        starts_at=window.start,
        ends_at=window.end,
        day=day,
        is_open=False,
        bottles=(),
        aliquots=18 if faults else 24,
        due="24.00",
        missed=0,
        gallons="24000.0",
        representativeness=None,
        warmest_deg_c=None,
        faults=faults,
        working=(),
    )


@pytest.fixture
def there(engine: Engine) -> Manhole:
    """Acme with two stored composites, water and flows of a quarter."""
    made = manhole(engine)
    with engine.begin() as db:
        (user,) = days.users(db)
        point = user.points["MH-1"]
        values = {
            "aliquots_channel_id": made.ph,
            "total_channel_id": made.flow,
            "composite": "day",
            "gallons_per_aliquot": Decimal(1000),
            "moves_when_full": True,
            "tolerance": Decimal("0.10"),
        }
        samplers.put(db, point, date(2026, 1, 1), values)
        ((setting,),) = samplers.by_point(db).values()
        for one in (taken(FLAGGED, FAULT), taken(SOUND)):
            samplers.keep(db, setting, one, now=NOW, release="test")
        flows = {Q1.start + timedelta(days=n): Decimal(10100) for n in range(Q1.days)}
        days.put_days(db, point, flows, source="meter")
        days.put_water(db, user.id, period=Q1, gallons=Decimal(900_000), reads={})
    return made


def report(*on: date) -> tuple[LabReport, bytes]:
    rows = "".join(
        f"C-{day.day},MH-1,composite,{name},{value},,mg/L,{day} 00:00,{day} 24:00\n"
        for day in on
        for name, value in (("CBOD5", "412"), ("TSS", "150"), ("TKN", "50"), ("TP", "14"))
    )
    content = (HEADINGS + rows).encode()
    return read(sheet(content, filename="r.csv"), zone=ZONE, received_at=NOW), content


def notes(there: Manhole, *on: date) -> list[str]:
    found, content = report(*on)
    receive(
        there.engine,
        found,
        content,
        filename="r.csv",
        industrial_user_id=1,
        viewer=None,
        now=NOW,
        release="test",
    )
    done = bill.preview(there.engine, city="prescott", period=Q1, now=NOW)
    (ready,) = done.of("ready")
    assert ready.bill is not None
    return [note for note in ready.bill.notes if "composite" in note]


def test_the_notes_of_a_bill_name_a_flagged_composite_that_it_stands_on(there: Manhole) -> None:
    (note,) = notes(there, FLAGGED, SOUND)
    assert note.startswith(f"The sampler's composite of MH-1, 2026-02-03, is flagged: {FAULT}")


def test_a_bill_on_a_sound_composite_says_nothing_of_it(there: Manhole) -> None:
    assert notes(there, SOUND) == []


def test_a_laboratory_file_is_warned_of_before_it_is_accepted(there: Manhole) -> None:
    found, _ = report(FLAGGED, SOUND)
    with there.engine.connect() as db:
        (said,) = uploads.cautions(db, 1, found, zone="America/Chicago")
        sound, _ = report(SOUND)
        assert uploads.cautions(db, 1, sound, zone="America/Chicago") == ()
    assert FAULT in said


def test_a_superseded_composite_is_not_held_against_anybody(there: Manhole) -> None:
    with there.engine.begin() as db:
        since, until = NOW - timedelta(days=99), NOW
        first = samplers.standing(db, 1, since=since, until=until)[0]
        samplers.supersede(db, [first.id], now=NOW, why="late readings")
    assert notes(there, FLAGGED) == []


def test_two_composites_of_a_point_cannot_stand_from_one_instant(there: Manhole) -> None:
    with there.engine.begin() as db, pytest.raises(Exception, match="uq_composite_standing"):
        row = taken(SOUND)
        db.execute(
            insert(t.composite).values(
                monitoring_point_id=1, sampler_id=1, starts_at=row.starts_at, ends_at=row.ends_at,
                day=SOUND, is_open=False, bottles=[], aliquots=1, missed=0, faults=[], working=[],
                computed_at=NOW, computed_by="test",
            )
        )  # fmt: skip
