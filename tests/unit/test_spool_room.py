"""A disk that refuses, and too little room: what is accepted stays, what is missing is told."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.model.gaps import SPOOL_FULL, Gap
from compliance.records import batch
from ingest import spool as spool_module
from ingest.ballast import Ballast
from ingest.outlet import Lane
from ingest.quota import Disk, Quota
from ingest.spool import Spool, SpoolFailed
from tests.support.spooling import AT, at, drained, one, opened, readings, written


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses to write on, in the middle of a write, as a full disk does."""
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    then = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
        signal.signal(signal.SIGXFSZ, then)


def test_a_full_disk_raises_keeps_the_readings_and_never_corrupts(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.put(readings(0, 2))
        spool.commit()
        size = next(tmp_path.glob("*.seg")).stat().st_size
        spool.put(readings(2, 2))
        with no_file_larger_than(size + 50):
            for _ in range(2):
                with pytest.raises(SpoolFailed, match="cannot be written: File too large"):
                    spool.commit()
                spool.put(readings(4 + spool.waiting, 10))
        assert spool.commit() == 22
        found = drained(spool)
    assert found[:4] == [0, 1, 2, 3]
    assert len(found) == 24


def test_memory_is_bounded_while_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "MOST_WAITING", 3)
    with opened(tmp_path) as spool:
        spool.put(readings(0, 3))
        with pytest.raises(SpoolFailed, match="takes no more"):
            spool.put(readings(3, 1))


def test_a_failed_sync_gives_a_segment_up_and_goes_on_in_another(tmp_path: Path) -> None:
    failing = [False, True, True, False, False]

    def sync(file: int) -> None:
        if failing and failing.pop(0):
            raise OSError(errno.EIO, "Input/output error")
        os.fdatasync(file)

    with Spool(tmp_path, worker="w", now=lambda: AT, sync=sync) as spool:
        written(spool, 0)
        spool.put(readings(3, 3))
        for _ in range(2):
            with pytest.raises(SpoolFailed, match="Input/output error"):
                spool.commit()
        assert spool.waiting == 3
        assert spool.commit() == 3
        sizes = [p.stat().st_size for p in sorted(tmp_path.glob("*.seg"))]
        assert sizes[0] == sizes[2] > sizes[1] == 0  # never written to again
        assert drained(spool) == [0, 1, 2, 3, 4, 5]


def gaps_of(folder: Path) -> list[Gap]:
    """Every gap that comes out of a spool."""
    found = []
    with opened(folder) as spool:
        spool.commit()
        while taken := one(spool):
            if taken.frame.kind is batch.Kind.GAP:
                found.append(batch.gap_of(taken.frame))
            spool.outlet.ack(Lane.BACKLOG, taken)
    return found


def test_a_gap_goes_the_way_of_readings(tmp_path: Path) -> None:
    gap = Gap(channels=(1, 5), since_us=at(0), until_us=at(9), cause="worker was down")
    with opened(tmp_path) as spool:
        spool.note([gap])
        written(spool, 9)
    assert gaps_of(tmp_path) == [gap]


def test_a_full_spool_takes_nothing_and_says_so_even_after_a_kill(tmp_path: Path) -> None:
    room = [10**9]
    quota = Quota(most=10**9, disk=lambda: Disk(free=room[0], total=10**9))
    home, killed = tmp_path / "spool", tmp_path / "killed"
    spool = Spool(home, worker="w", now=lambda: AT, quota=quota)
    written(spool, 0)
    room[0] = 0
    spool.put(readings(3, 4))
    with pytest.raises(SpoolFailed, match="used all its room"):
        spool.commit()
    shutil.copytree(home, killed)  # as the disk was when the worker was killed
    (refused,) = gaps_of(killed)
    assert refused == Gap(channels=(1,), since_us=at(3), until_us=at(6) + 1, cause=SPOOL_FULL)
    assert gaps_of(killed) == []  # told once
    room[0] = 10**9
    assert spool.commit() == 4  # nothing was lost here: it waited in memory
    assert drained(spool) == list(range(7))
    spool.close()
    assert gaps_of(home) == []


def test_what_memory_cannot_hold_becomes_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "MOST_WAITING", 3)
    with opened(tmp_path) as spool:
        spool.put(readings(0, 3))
        for second in (3, 4):
            with pytest.raises(SpoolFailed, match="takes no more"):
                spool.put(readings(second, 1))
        spool.commit()
    assert gaps_of(tmp_path) == [
        Gap(channels=(1,), since_us=at(3), until_us=at(4) + 1, cause=SPOOL_FULL)
    ]


def test_a_worker_stopped_on_a_full_disk_leaves_a_gap(tmp_path: Path) -> None:
    quota = Quota(most=0, disk=lambda: Disk(free=10**9, total=10**9))
    with (
        pytest.raises(SpoolFailed),
        Spool(tmp_path, worker="w", now=lambda: AT, quota=quota) as spool,
    ):
        spool.put(readings(0, 2))
    assert [(g.since_us, g.until_us) for g in gaps_of(tmp_path)] == [(at(0), at(1) + 1)]


def test_the_last_accepted_slot_of_a_channel_is_known_after_a_kill(tmp_path: Path) -> None:
    home, killed = tmp_path / "spool", tmp_path / "killed"
    spool = opened(home, segment=100)
    for start in range(20):
        written(spool, start, each=1)
        drained(spool)  # its segments are gone
    shutil.copytree(home, killed)
    spool.close()
    with opened(killed) as again:
        assert again.last_slots([1, 2]) == {1: at(19)}


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 2 * 1024 * 1024), count=st.integers(0, 3))
def test_a_half_written_note_in_the_ballast_leaves_the_one_before(cut: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ballast"
        notes = [
            Gap(channels=(n,), since_us=at(n), until_us=at(n + 1), cause="x") for n in range(4)
        ]
        ballast = Ballast(path)
        for gap in notes[: count + 1]:
            ballast.note([gap])
        ballast.close()
        content = bytearray(path.read_bytes())
        newest = (count + 1) % 2 * (len(content) // 2)
        content[newest + cut % 60] ^= 0xFF
        path.write_bytes(content)
        again = Ballast(path)
        assert (
            again.gaps() in ([], [notes[count]])
            if count == 0
            else again.gaps()
            in (
                [notes[count - 1]],
                [notes[count]],
            )
        )
        assert path.stat().st_size == 1024 * 1024
        again.close()
