"""The spool: what was accepted comes out again, whatever happened to the file."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.errors import InputError, StorageError
from compliance.model.gaps import SPOOL_FULL, Gap
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch, tuples
from ingest import spool as spool_module
from ingest.ballast import Ballast
from ingest.outlet import Lane
from ingest.quota import Disk, Quota
from ingest.segments import Taken
from ingest.spool import Spool, SpoolFailed

AT = datetime(2026, 7, 1, tzinfo=UTC)


def readings(start: int, count: int) -> list[Reading]:
    return [
        Reading(channel_id=1, read_at=AT + timedelta(seconds=s), value=float(s), unit=Unit.GPM)
        for s in range(start, start + count)
    ]


def opened(folder: Path, **more: int) -> Spool:
    return Spool(folder, worker="w", now=lambda: AT, **more)


def seconds(content: bytes) -> list[int]:
    return [(row[1] - to_us(AT)) // 1_000_000 for row in tuples.rows(content)]


def one(spool: Spool, lane: Lane = Lane.BACKLOG) -> Taken | None:
    """The next frame of a lane."""
    return next(iter(spool.outlet.take(lane, frames=1)), None)


def drained(spool: Spool, lane: Lane = Lane.BACKLOG) -> list[int]:
    """The seconds of all readings that come out of a lane, each frame acknowledged."""
    found: list[int] = []
    while taken := one(spool, lane):
        found += seconds(taken.frame.content) if taken.frame else []
        spool.outlet.ack(lane, taken)
    return found


def filled(folder: Path, *, frames: int, each: int = 3) -> None:
    with opened(folder) as spool:
        for i in range(frames):
            spool.put(readings(i * each, each))
            spool.commit()


def test_readings_come_out_in_the_order_they_went_in(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        assert one(spool) is None
        for start in (0, 3):
            spool.put(readings(start, 3))
            spool.commit()
        assert drained(spool) == list(range(6))
        spool.put(readings(6, 1))
        assert one(spool) is None  # not accepted yet
        assert spool.commit() == 1
        assert drained(spool) == [6]


def test_t27_only_what_is_not_acknowledged_comes_again_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path, frames=3)
    with opened(tmp_path) as spool:
        spool.outlet.ack(Lane.BACKLOG, one(spool))
        one(spool)
        spool.outlet.rewind()
        assert seconds(one(spool).frame.content) == [3, 4, 5]
    with opened(tmp_path) as spool:
        spool.put(readings(9, 1))
        spool.commit()
        assert drained(spool) == list(range(3, 10))
        assert spool.outlet.backlog_bytes() == 0


def test_a_finished_segment_is_freed_and_the_rest_read_on(tmp_path: Path) -> None:
    with opened(tmp_path, segment=400) as spool:
        for i in range(20):
            spool.put(readings(i, 1))
            spool.commit()
        assert len(list(tmp_path.glob("*.seg"))) == 5
        assert drained(spool) == list(range(20))
        assert len(list(tmp_path.glob("*.seg"))) == 1


def test_two_workers_on_one_spool_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(StorageError, match="another --worker name"):
        opened(tmp_path)


def test_sequences_are_never_used_twice(tmp_path: Path) -> None:
    sequences = []
    for _ in range(3):
        with opened(tmp_path) as spool:
            spool.put(readings(0, 1))
            spool.commit()
            taken = one(spool)
            sequences.append(taken.frame.sequence)
            spool.outlet.ack(Lane.BACKLOG, taken)
    assert sorted(set(sequences)) == sequences


def test_a_number_that_is_none_is_refused_before_it_can_spoil_a_frame(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        with pytest.raises(InputError):
            spool.put(
                [
                    *readings(0, 1),
                    Reading(channel_id=1, read_at=AT, value=float("nan"), unit=Unit.GPM),
                ]
            )
        spool.put(readings(5, 1))
        spool.commit()
        assert drained(spool) == [5]


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 10_000))
def test_a_torn_tail_is_cut_and_every_whole_frame_read(cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, frames=4)
        segment = next(folder.glob("*.seg"))
        content = segment.read_bytes()
        kept = cut % len(content)
        segment.write_bytes(content[:kept])
        whole = kept // (len(content) // 4)
        with opened(folder) as spool:
            spool.put(readings(100, 1))
            spool.commit()
            assert drained(spool) == [*range(3 * whole), 100]
        torn = b"".join(p.read_bytes() for p in (folder / "cut").glob("*"))
        assert torn == content[whole * (len(content) // 4) : kept]


@settings(max_examples=100, deadline=None)
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_t27_a_flipped_bit_costs_one_frame_which_is_handed_over_with_its_reason(
    at: int, bit: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, frames=4)
        segment = next(folder.glob("*.seg"))
        content = bytearray(segment.read_bytes())
        at %= len(content)
        content[at] ^= 1 << bit
        segment.write_bytes(content)
        hit = at // (len(content) // 4)
        with opened(folder) as spool:
            damaged, found = [], []
            while taken := one(spool):
                found += seconds(taken.frame.content) if taken.frame else []
                damaged += [] if taken.frame else [taken.damaged]
                spool.outlet.ack(Lane.BACKLOG, taken)
        assert found == [s for s in range(12) if s // 3 != hit]
        kept = [p.read_bytes() for p in (folder / "cut").glob("*")]
        size = len(content) // 4
        assert damaged + kept == [bytes(content[hit * size : (hit + 1) * size])]


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


def test_a_lost_cursor_only_delivers_again(tmp_path: Path) -> None:
    filled(tmp_path, frames=2)
    with opened(tmp_path) as spool:
        spool.outlet.ack(Lane.BACKLOG, one(spool))
    (tmp_path / "ack").write_bytes(b"\xff" * 128)
    with opened(tmp_path) as spool:
        assert drained(spool) == list(range(6))


def lanes(spool: Spool) -> tuple[list[int], list[int]]:
    """What comes out live, then what comes out of the backlog."""
    return drained(spool, Lane.LIVE), drained(spool)


def written(spool: Spool, *starts: int, each: int = 3) -> None:
    for start in starts:
        spool.put(readings(start, each))
        spool.commit()


def test_t27_after_an_outage_what_is_new_overtakes_the_backlog(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        written(spool, 0, 3, 6)
        written(spool, 1000, each=1)
        assert drained(spool, Lane.LIVE) == []  # it lags: from here on there are two lanes
        assert spool.outlet.is_split
        written(spool, 1001, each=2)
        assert drained(spool, Lane.LIVE) == [1001, 1002]
        written(spool, 1003, each=1)
        assert lanes(spool) == ([1003], [*range(9), 1000])
        assert not spool.outlet.is_split
        assert spool.outlet.backlog_bytes() == 0
        written(spool, 1004, each=1)
        assert lanes(spool) == ([], [1004])


def test_the_lanes_are_where_they_were_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path, segment=300) as spool:
        written(spool, 0, 3, 6, 1000)
        assert drained(spool, Lane.LIVE) == []
        written(spool, 1003)
        assert drained(spool, Lane.LIVE) == [1003, 1004, 1005]
        spool.outlet.ack(Lane.BACKLOG, one(spool))
    with opened(tmp_path) as spool:
        written(spool, 1006)
        live, backlog = lanes(spool)
        assert live == [1006, 1007, 1008]
        assert backlog == [3, 4, 5, 6, 7, 8, 1000, 1001, 1002]
        assert spool.outlet.backlog_bytes() == 0


def test_a_second_outage_while_a_backlog_drains_loses_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        written(spool, 0, 1000)
        assert drained(spool, Lane.LIVE) == []
        written(spool, 2000, 3000)  # nobody took them for long
        assert drained(spool, Lane.LIVE) == []
        written(spool, 3003)
        live, backlog = lanes(spool)
        assert live == [3003, 3004, 3005]
        assert set(backlog) == {s + n for s in (0, 1000, 2000, 3000) for n in range(3)}


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


# -- gaps, and what is left out when there is little room


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


def at(second: int) -> int:
    return to_us(AT) + second * 1_000_000


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
