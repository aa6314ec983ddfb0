"""The door for remote sites: only whole frames, only of the token's own channels, each once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, insert, select

from app.api import frames as door
from compliance.errors import InputError, NotFound, SettingsError, StorageError
from compliance.model.gaps import Gap
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch, gaps, health, maps, places, plans, tokens, tuples
from compliance.records import tables as t
from compliance.records.arrivals import Arrived
from compliance.records.batch import Frame
from ingest import library
from ingest.holding import Maps
from ingest.remote import Remote, RemoteOffice, ToServer
from ingest.spool import Spool
from tests.support.waiting import PATIENCE, until

AT = datetime(2026, 7, 1, tzinfo=UTC)
SECRET = "prt_secret"


def channel_of(engine: Engine, code: str) -> int:
    with engine.connect() as db:
        found = db.scalar(
            select(t.channel.c.id).join(t.monitoring_point).where(t.monitoring_point.c.code == code)
        )
    assert found is not None
    return found


@pytest.fixture
def own(town) -> int:
    """A channel of MH-1, the point that the token of worker far is for."""
    with town.engine.begin() as db:
        point = db.scalar(
            select(t.monitoring_point.c.id).where(t.monitoring_point.c.code == town.point)
        )
        digest = hashlib.sha256(SECRET.encode()).hexdigest()
        db.execute(insert(t.token).values(worker="far", sha256=digest, points=[point]))
    return channel_of(town.engine, town.point)


@pytest.fixture
def site(visitor: TestClient) -> TestClient:
    """The client of the remote site."""
    visitor.headers["authorization"] = f"Bearer {SECRET}"
    return visitor


def frame(channel: int, start: int = 0, count: int = 3, *, sequence: int = 1) -> Frame:
    many = [
        Reading(channel_id=channel, read_at=AT + timedelta(seconds=s), value=float(s), unit=Unit.SU)
        for s in range(start, start + count)
    ]
    return batch.frame(batch.from_readings(many), worker="far", sequence=sequence)


def sent(site: TestClient, *frames: Frame) -> tuple[int, Mapping[str, object]]:
    answer = site.post("/api/v1/frames", content=b"".join(map(batch.encode, frames)))
    return answer.status_code, answer.json()


def stored(engine: Engine) -> int:
    with engine.connect() as db:
        r = t.reading.c
        return db.scalar(select(func.count()).where(r.read_at >= AT, r.read_at < AT + timedelta(1)))


def test_frames_are_stored_once_however_often_they_come(site, own, town) -> None:
    first, second = frame(own), frame(own, 3, sequence=2)
    assert sent(site, first, second) == (200, {"stored": 6, "quarantined": 0, "sequence": 2})
    assert sent(site, first, second) == (200, {"stored": 0, "quarantined": 0, "sequence": 2})
    assert stored(town.engine) == 6


def test_readings_of_the_future_are_set_aside_once_and_the_rest_is_stored(site, own, town) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    many = [
        Reading(channel_id=own, read_at=at, value=7.0, unit=Unit.SU)
        for at in (AT, later, later + timedelta(seconds=1))
    ]
    one = batch.frame(batch.from_readings(many), worker="far", sequence=1)
    assert sent(site, one) == (200, {"stored": 1, "quarantined": 1, "sequence": 1})
    assert sent(site, one) == (200, {"stored": 0, "quarantined": 0, "sequence": 1})
    with town.engine.connect() as db:
        ((reason, content),) = db.execute(select(t.quarantine.c.reason, t.quarantine.c.content))
        assert not db.scalar(select(func.count()).where(t.reading.c.read_at >= later))
    assert "2 readings dated later than 10 minutes after the server's clock" in reason
    assert len(tuples.split(content)[0]) == 2


def test_a_gap_comes_through_the_door(site, own, town) -> None:
    gap = Gap(channels=(own,), since_us=to_us(AT), until_us=to_us(AT) + 5, cause="worker was down")
    assert sent(site, batch.gap_frame(gap, worker="far", sequence=1))[0] == 200
    with town.engine.connect() as db:
        assert gaps.between(db, [own], since=AT, until=AT + timedelta(1)) == (gap,)


def test_a_channel_of_another_point_is_refused_and_nothing_stored(site, own, town) -> None:
    other = channel_of(town.engine, town.others_point)
    status, told = sent(site, frame(own), frame(other, sequence=2))
    assert (status, told["title"]) == (403, "Forbidden")
    assert stored(town.engine) == 0


def test_a_header_is_not_believed(site, own, town) -> None:
    """A frame that names an own channel and carries a reading of another's."""
    other = channel_of(town.engine, town.others_point)
    foreign = frame(other)
    for lying in (
        replace(foreign, channels=(own,)),
        replace(frame(own), until_us=to_us(AT) + 1),
        replace(frame(own), count=2),
        replace(frame(own), content=frame(own).content[:-1]),
        replace(frame(own), batch_id=batch.batch_id("near", 1)),
    ):
        status, told = sent(site, lying)
        assert (status, told["status"]) == (422, 422), told
    assert stored(town.engine) == 0


def test_a_damaged_frame_is_refused(site, own) -> None:
    content = bytearray(batch.encode(frame(own)))
    content[80] ^= 1
    answer = site.post("/api/v1/frames", content=bytes(content))
    assert answer.status_code == 422
    assert "checksum" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert site.post("/api/v1/frames", content=b"").status_code == 422


def test_another_frame_under_a_used_sequence_is_a_conflict(site, own) -> None:
    sent(site, frame(own))
    status, told = sent(site, frame(own, 0, 9))
    assert (status, told["title"]) == (409, "Conflict")


def test_too_much_at_once_is_refused(site, own) -> None:
    answer = site.post("/api/v1/frames", content=bytes(door.LARGEST + 1))
    assert answer.status_code == 413
    assert answer.json()["status"] == 413


@pytest.mark.parametrize("said", ["", "Bearer", "Bearer other", "Basic " + SECRET])
def test_without_its_token_the_door_is_shut(visitor, own, said) -> None:
    posts = [("POST", path) for path in ("", "/beat", "/fault", "/map")]
    for method, path in (("GET", "/plan"), *posts):
        answer = visitor.request(
            method, f"/api/v1/frames{path}", headers={"authorization": said}, json={"what": "x"}
        )
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_token_opens_nothing(site, own, town) -> None:
    with town.engine.begin() as db:
        tokens.revoke(db, "far", now=AT)
    assert sent(site, frame(own))[0] == 401
    with town.engine.begin() as db, pytest.raises(NotFound):
        tokens.revoke(db, "far", now=AT)


def test_a_site_is_told_its_own_points_alone(site, own) -> None:
    found = plans.decoded(site.get("/api/v1/frames/plan").content)
    told = {c.id: c.point_id for p in found for i in p.instruments for c in i.channels}
    assert own in told
    assert len(set(told.values())) == 1


def test_a_site_says_how_it_is(site, own, town, tmp_path: Path) -> None:
    office = RemoteOffice(site, known=Maps(tmp_path))
    holding = office.renew()
    assert holding is not None and len(holding.plans) == 1
    assert office.renew() is None  # twice a minute is enough
    office.beat({"gateways": 1})
    office.fault("gateway g: gone")
    with town.engine.connect() as db:
        assert [b.detail for b in health.beats(db) if b.process == "ingest far"] == [
            {"gateways": 1}
        ]
        assert [f.what for f in health.faults(db, since=AT)] == ["gateway g: gone"]


def published(engine: Engine) -> dict[str, str]:
    with engine.connect() as db:
        return dict(db.execute(select(t.register_map.c.name, t.register_map.c.published_by)).all())


def test_a_site_publishes_the_maps_it_reads_by(site, own, town, tmp_path: Path) -> None:
    office = RemoteOffice(site, known=Maps(tmp_path))
    assert office.renew() is not None
    assert published(town.engine) == {}
    assert office.renew() is None and office.renew() is None
    assert published(town.engine) == {"eh-liquiline-cm44x": "far"}
    with town.engine.connect() as db:
        sha256, content = places.register_maps(db)["eh-liquiline-cm44x"]
    there = library.load("eh-liquiline-cm44x")
    assert (sha256, content) == (maps.sha256(there), maps.content(there))


def test_a_map_of_the_site_alone_is_published_as_it_stands_there(site, own, town, tmp_path) -> None:
    (tmp_path / "maps").mkdir()
    packaged = (library.PACKAGED / "eh-liquiline-cm44x.yaml").read_text()
    changed = packaged.replace("vendor: ", "vendor: ours, once ", 1)
    (tmp_path / "maps" / "eh-liquiline-cm44x.yaml").write_text(changed)
    office = RemoteOffice(site, known=Maps(tmp_path))
    office.renew(), office.renew()
    with town.engine.connect() as db:
        _, content = places.register_maps(db)["eh-liquiline-cm44x"]
    assert content["vendor"].startswith("ours, once ")


def test_a_map_that_is_none_or_not_its_own_is_refused(site, own, town) -> None:
    sound = maps.content(library.load("eh-liquiline-cm44x"))
    other = maps.content(library.load("hach-sc4500"))
    for content, status in (
        ({**sound, "entries": 5}, 422),
        ({**sound, "more": 1}, 422),
        ({"name": "eh-liquiline-cm44x"}, 422),
        (other, 403),
    ):
        answer = site.post("/api/v1/frames/map", json=content)
        assert answer.status_code == status, answer.text
        assert answer.json()["detail"]
    assert published(town.engine) == {}


def test_a_map_that_cannot_be_sent_is_sent_later(
    site, own, town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = RemoteOffice(site, known=Maps(tmp_path))
    office.renew()
    site.headers["authorization"] = "Bearer old"
    with pytest.raises(StorageError, match="401"):
        office.renew()
    site.headers["authorization"] = f"Bearer {SECRET}"
    office.renew()
    assert published(town.engine) == {}, "it is not tried each second"
    monkeypatch.setattr(office, "_next_map", 0.0)
    office.renew()
    assert published(town.engine) == {"eh-liquiline-cm44x": "far"}


# -- the worker's side of it


def test_what_the_server_will_never_take_is_kept_and_the_rest_goes_on(
    site, own, town, tmp_path: Path
) -> None:
    carrier = ToServer(site, folder=tmp_path)
    bad = replace(frame(own, 5, 1, sequence=2), count=7)
    assert carrier.store([frame(own), bad, frame(own, 6, sequence=3)]) == Arrived(6, 1)
    assert (tmp_path / "cut" / "2").read_bytes() == batch.encode(bad)
    assert carrier.store([frame(own)]) == Arrived(0, 0)


def test_a_server_that_does_not_know_us_is_waited_for(site, own, tmp_path: Path) -> None:
    site.headers["authorization"] = "Bearer old"
    with pytest.raises(StorageError, match="401"):
        ToServer(site, folder=tmp_path).store([frame(own)])
    assert not (tmp_path / "cut").exists()


@pytest.mark.parametrize(
    ("url", "mode", "content", "said"),
    [
        ("http://example.org", 0o600, "x", "expected https://"),
        ("https://example.org", 0o644, "x", "chmod 600"),
        ("https://example.org", 0o600, "", "holds no token"),
        ("https://example.org", 0o600, None, "cannot be read"),
    ],
)
def test_an_address_or_token_that_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, url: str, mode: int, content: str | None, said: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(SettingsError, match=said):
        Remote.read(url, path)


# -- making tokens


def test_a_token_is_made_only_for_points_that_can_be_polled_alone(town) -> None:
    with town.engine.begin() as db:
        tokens.add(db, worker_name="far", sha256="x", points=["MH-1", "MH-2"])
        for name, points, said in (
            ("b", ["MH-1"], "leaves out MH-2"),
            ("b", ["MH-9"], "'MH-9', which is no monitoring point"),
            ("far", ["MH-1", "MH-2"], "used already"),
        ):
            with pytest.raises(InputError, match=said):
                tokens.add(db, worker_name=name, sha256="y", points=points)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from app.commands import main; main()", *arguments]


@pytest.mark.long
def test_a_remote_worker_sends_its_spool_over_http(town, tmp_path: Path) -> None:
    """The whole way, with processes: token add, serve, ingest --forward."""
    url = town.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    here = {**os.environ, "DATABASE_URL": url, "PRETREAT_HOME": str(tmp_path / "server")}
    made = subprocess.run(
        command("token", "add", "--worker", "far", "--points", "MH-1,MH-2", "--json"),
        env=here,
        capture_output=True,
        check=True,
    )
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(json.loads(made.stdout)["token"])
    with Spool(tmp_path / "spool" / "far", worker="far", now=lambda: AT) as spool:
        channel = channel_of(town.engine, "MH-1")
        many = [
            Reading(
                channel_id=channel,
                read_at=AT + timedelta(seconds=s),
                value=7.0,
                unit=Unit.SU,
            )
            for s in range(100)
        ]
        spool.put(batch.from_readings(many))
    serving = subprocess.Popen(
        command("serve", "--port", "0"), env=here, stdout=subprocess.PIPE, text=True
    )
    with serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[-1].rstrip("/")
        far = {**os.environ, "PRETREAT_HOME": str(tmp_path)}
        far.pop("DATABASE_URL", None)
        words = ["ingest", "--worker", "far", "--forward", address, "--token-file", str(token)]
        with subprocess.Popen(command(*words), env=far) as worker:
            until(lambda: stored(town.engine) == 100)
            until(lambda: published(town.engine) == {"eh-liquiline-cm44x": "far"})
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(PATIENCE) == 0
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(PATIENCE) == 0
    with town.engine.connect() as db:
        assert "ingest far" in [beat.process for beat in health.beats(db)]
