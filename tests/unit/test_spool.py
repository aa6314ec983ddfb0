"""The spool: what was accepted comes out again, whatever happened to the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.errors import InputError, StorageError
from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records.batch import from_readings
from ingest.outlet import Lane
from ingest.spool import Spool
from tests.support.spooling import AT, drained, filled, one, opened, readings, seconds, written


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
        none = Reading(channel_id=1, read_at=AT, value=float("nan"), unit=Unit.GPM)
        with pytest.raises(InputError):
            spool.put(from_readings([none]))
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
