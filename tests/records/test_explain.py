"""A finding is explained from the record, comes out again, and goes into one file that checks."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import DBAPIError

from app import explaining, packing
from app.labfiles import sheet
from compliance.errors import InputError, NotFound
from compliance.jobs import decide
from compliance.jobs.explain import Explained, explain
from compliance.jobs.receive import receive
from compliance.jobs.slugs import screen_slugs
from compliance.records import tables as t
from compliance.records.engine import reading
from compliance.records.scope import Scope
from compliance.sampling.results import read
from tests.support.keeping import MAY_2027, adopt, decided, old_manhole, pruned
from tests.support.manhole import AT, Manhole, manhole

pytestmark = pytest.mark.database
ALL = Scope(city_id=None, industrial_user_id=None)
LOW = [5.4, 5.2, 5.3, None, 5.9]


@pytest.fixture
def mh(engine: Engine) -> Manhole:
    """Two runs of one side, near enough to be one event, with a missing reading between."""
    made = manhole(engine)
    values: dict[int, float | None] = dict.fromkeys(range(60), 7.2)
    values |= {20 + n: value for n, value in enumerate(LOW)} | {28: 5.5}
    made.put(values)
    made.judge(after=120)
    return made


def one(mh: Manhole, rule: str = "prescott.ph") -> str:
    with mh.engine.connect() as db:
        e = t.exceedance.c
        return str(db.scalar(select(e.id).where(e.rule_id == rule).order_by(e.starts_at)))


def explained(mh: Manhole, name: str | None = None) -> Explained:
    with reading(mh.engine) as db:
        return explain(db, ALL, name or one(mh))


def unpacked(mh: Manhole, folder: Path, name: str | None = None) -> Path:
    with reading(mh.engine) as db:
        content = packing.pack(packing.gather(db, explain(db, ALL, name or one(mh))))
    zipfile.ZipFile(io.BytesIO(content)).extractall(folder)
    return folder


def check(folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-I", str(folder / "check.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_finding_comes_out_again_with_what_was_left_out(mh: Manhole) -> None:
    found = explained(mh)
    assert (found.agrees, found.differs) == (True, ())
    assert found.again is not None and found.again.id == found.record.fact.id
    assert (found.again.runs, found.again.readings, found.again.worst) == (2, 5, "5.20")
    assert found.source is not None
    left = [(each.reason, each.readings) for each in found.source.left_out]
    assert left == [("no answer in time", 1)]
    outcomes = {each.rule_id: each.outcome for each in found.considered}
    assert outcomes["prescott.ph"] == "1 finding in this span"
    assert outcomes["federal.ph_floor"] == "nothing beyond it in this span"


def test_it_is_found_by_each_of_its_names(mh: Manhole) -> None:
    fact = one(mh)
    detection = explained(mh).record.detection
    assert detection is not None
    number = decide.open_violation(
        mh.engine,
        detection_id=detection,
        viewer=mh.coordinator,
        reason="Seen on the chart",
        capacity="Coordinator",
        now=AT + timedelta(hours=3),
    )
    for name in (fact, str(detection), number):
        record = explained(mh, name).record
        assert (record.fact.id, record.violation) == (fact, number)
    with pytest.raises(NotFound, match="there is no finding '99'"):
        explained(mh, "99")
    with pytest.raises(InputError, match="names no finding; expected a detection's number"):
        explained(mh, "pH last Tuesday")


def test_a_changed_reading_is_told_where_it_matters(mh: Manhole) -> None:
    r = t.reading.c
    at = AT + timedelta(minutes=21)
    with mh.engine.begin() as db:
        db.execute(update(t.reading).where(r.read_at == at).values(value=5.1))
    found = explained(mh)
    assert found.agrees is False
    assert [(d.what, d.kept, d.again) for d in found.differs][:1] == [("worst", "5.20", "5.10")]
    assert found.differs[-1].what == "digest of the stored readings"


def test_a_finding_that_is_not_there_any_more_differs_as_a_whole(mh: Manhole) -> None:
    with mh.engine.begin() as db:
        db.execute(update(t.reading).where(t.reading.c.value < 6).values(value=7.0))
    found = explained(mh)
    assert (found.differs[0].what, found.differs[0].again) == ("finding", "not found")


def test_one_that_still_runs_agrees_so_far(engine: Engine) -> None:
    mh = manhole(engine)
    mh.put({n: 7.2 if n < 10 else 5.0 for n in range(15)})
    mh.judge(after=15)
    found = explained(mh)
    assert (found.record.fact.settled, found.agrees) == (False, True)


def test_a_withdrawn_one_agrees_when_it_is_not_found(mh: Manhole) -> None:
    with mh.engine.begin() as db:
        db.execute(update(t.reading).where(t.reading.c.value < 6).values(value=7.0))
        db.execute(
            update(t.exceedance).values(superseded_at=AT, superseded_why="corrected readings")
        )
    found = explained(mh)
    assert (found.agrees, found.why) == (True, "withdrawn: corrected readings")


def test_a_possible_slug_comes_out_again(engine: Engine) -> None:
    mh = manhole(engine)
    flow: dict[int, float | None] = dict.fromkeys(range(1500), 10.0)
    flow |= dict.fromkeys(range(1460, 1490), 80.0)
    mh.put(flow, channel=mh.flow)
    mh.judge(after=1600)
    screen_slugs(engine, now=AT + timedelta(minutes=1600), release="test")
    found = explained(mh, one(mh, "prescott.slug"))
    assert (found.record.fact.kind.value, found.agrees) == ("possible_slug", True)


def test_nothing_can_be_written_while_it_is_explained(mh: Manhole) -> None:
    with reading(mh.engine) as db, pytest.raises(DBAPIError, match="read-only transaction"):
        db.execute(insert(t.gateway).values(name="x", host="y", port=1))


def test_destroyed_readings_are_told_and_nothing_is_said_of_them(
    engine: Engine, tmp_path: Path
) -> None:
    mh = decided(old_manhole(engine))
    adopt(engine)
    with mh.engine.connect() as db:
        e = t.exceedance.c
        ids = list(db.scalars(select(e.id).where(e.channel_id.is_not(None))))
    pruned(mh, now=MAY_2027)
    found = [each for each in (explained(mh, one_id) for one_id in ids) if each.destroyed]
    assert found
    assert {each.agrees for each in found} == {None}
    assert found[0].why == "readings that it rests on were destroyed under a records schedule"
    said = explaining.document(found[0], asked="x")
    assert said["destroyed"][0]["line"] == "WW-1"
    folder = unpacked(mh, tmp_path, found[0].record.fact.id)
    assert check(folder)[0] == 0


# -- the pack


def test_a_pack_checks_itself(mh: Manhole, tmp_path: Path) -> None:
    folder = unpacked(mh, tmp_path)
    code, said = check(folder)
    assert (code, said.splitlines()[0]) == (0, "every file is as it was packed")
    assert "300 s" not in said and "540 s, 360 s beyond, 5 readings beyond" in said
    rows = (folder / "readings.csv").read_text().splitlines()
    assert rows[0] == "at,at_local,value,unit,judged,quality,interval_us,words"
    assert "2026-07-06T12:23:00+00:00,2026-07-06T07:23:00-05:00,,s.u.,no,no answer in time," in (
        "\n".join(rows)
    )
    fact = json.loads((folder / "fact.json").read_text())
    assert fact["recomputed"]["agrees"] is True
    assert "worst 5.20" in (folder / "evidence.html").read_text()


def test_the_same_record_gives_the_same_bytes(mh: Manhole) -> None:
    def packed() -> bytes:
        with reading(mh.engine) as db:
            return packing.pack(packing.gather(db, explain(db, ALL, one(mh))))

    assert packed() == packed()


@pytest.mark.parametrize(
    "name", ["readings.csv", "fact.json", "calibrations.json", "evidence.html"]
)
def test_a_changed_byte_is_found(mh: Manhole, tmp_path: Path, name: str) -> None:
    file = unpacked(mh, tmp_path) / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    code, said = check(tmp_path)
    assert code != 0
    if code == 1:
        assert f"{name}: changed since it was packed" in said


def test_readings_that_do_not_give_the_finding_are_told_whatever_the_hashes_say(
    mh: Manhole, tmp_path: Path
) -> None:
    folder = unpacked(mh, tmp_path)
    file = folder / "readings.csv"
    file.write_text(file.read_text().replace(",5.2,s.u.,yes,", ",6.2,s.u.,yes,"))
    code, said = check(folder)
    assert code == 1
    assert "finding, readings: it says 5, the readings give 4" in said
    (folder / "check.pyc").write_bytes(b"")
    assert "check.pyc: not part of the pack" in check(folder)[1]


def test_no_cell_is_a_formula(mh: Manhole) -> None:
    header, rows = ("a",), [("=1+1",), ("-5.2",), ("@x",), ("-x",), ("7",)]
    lines = packing._csv(header, rows).decode().splitlines()
    assert lines == ["a", "'=1+1", "-5.2", "'@x", "'-x", "7"]


# -- results


OIL = """Sample ID,Point,Collected,Sample Type,Parameter,Result,RL,Units,Method
S-1,MH-1,2026-07-01 09:30,Grab,Petroleum oil,31,5,mg/L,1664B SGT
"""


def test_a_result_comes_out_again_and_its_pack_checks(mh: Manhole, tmp_path: Path) -> None:
    with mh.engine.connect() as db:
        user = db.scalar(select(t.industrial_user.c.id))
    assert user is not None
    zone = ZoneInfo("America/Chicago")
    report = read(sheet(OIL.encode(), filename="oil.csv"), zone=zone, received_at=AT)
    receive(
        mh.engine,
        report,
        OIL.encode(),
        filename="oil.csv",
        industrial_user_id=user,
        viewer=None,
        now=AT,
        release="test",
    )
    name = one(mh, "prescott.petroleum_oil")
    found = explained(mh, name)
    assert (found.agrees, found.differs) == (True, ())
    assert found.result is not None and found.result.result.written == "31"
    folder = unpacked(mh, tmp_path, name)
    code, said = check(folder)
    assert (code, said.splitlines()[1]) == (
        0,
        "the result lies outside the limit, as the finding says",
    )
    with mh.engine.begin() as db:
        db.execute(update(t.result).values(value=20, written="20"))
    assert [d.again for d in explained(mh, name).differs] == ["not found"]
