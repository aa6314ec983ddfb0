"""The spool: what was accepted comes out again, whatever happened to the file."""

from __future__ import annotations

import resource
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
from compliance.model.periods import to_us
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch
from ingest import spool as spool_module
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
    return [(row[1] - to_us(AT)) // 1_000_000 for row in batch.rows(content)]


def drained(spool: Spool) -> list[int]:
    """The seconds of all readings that come out, each frame acknowledged."""
    found: list[int] = []
    while taken := spool.take():
        found += seconds(taken.frame.content) if taken.frame else []
        spool.ack(taken)
    return found


def filled(folder: Path, *, frames: int, each: int = 3) -> None:
    with opened(folder) as spool:
        for i in range(frames):
            spool.put(readings(i * each, each))
            spool.commit()


def test_readings_come_out_in_the_order_they_went_in(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        assert spool.take() is None
        for start in (0, 3):
            spool.put(readings(start, 3))
            spool.commit()
        assert drained(spool) == list(range(6))
        spool.put(readings(6, 1))
        assert spool.take() is None  # not accepted yet
        assert spool.commit() == 1
        assert drained(spool) == [6]


def test_what_is_not_acknowledged_comes_again_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path, frames=3)
    with opened(tmp_path) as spool:
        spool.ack(spool.take())
        spool.take()
        spool.rewind()
        assert seconds(spool.take().frame.content) == [3, 4, 5]
    with opened(tmp_path) as spool:
        spool.put(readings(9, 1))
        spool.commit()
        assert drained(spool) == list(range(3, 10))
        assert spool.backlog_bytes() == 0


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
            taken = spool.take()
            sequences.append(taken.frame.sequence)
            spool.ack(taken)
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
        torn = b"".join(p.read_bytes() for p in (folder / "cut").iterdir())
        assert torn == content[whole * (len(content) // 4) : kept]


@settings(max_examples=100, deadline=None)
@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_costs_one_frame_which_is_handed_over_with_its_reason(
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
            while taken := spool.take():
                found += seconds(taken.frame.content) if taken.frame else []
                damaged += [] if taken.frame else [taken.damaged]
                spool.ack(taken)
        assert found == [s for s in range(12) if s // 3 != hit]
        kept = [p.read_bytes() for p in (folder / "cut").iterdir()]
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
        spool.ack(spool.take())
    (tmp_path / "ack").write_bytes(b"\xff" * 128)
    with opened(tmp_path) as spool:
        assert drained(spool) == list(range(6))
