"""How much of what was due has come, and a span cut into pieces by it."""

from __future__ import annotations

from compliance.model.completeness import Hour, Kind, Piece, due, pieces, runs, share

S = 1_000_000
H = 3600 * S


def test_slots_follow_the_interval_in_force() -> None:
    cadence = [(0, 300 * S), (H, 2 * S)]
    assert due(cadence, since_us=0, until_us=2 * H) == 12 + 1800
    assert due(cadence, since_us=H // 2, until_us=H) == 6
    assert due([(H, S)], since_us=0, until_us=H) == 0
    assert due([], since_us=0, until_us=H) == 0


def test_a_slot_at_the_beginning_is_due_and_one_at_the_end_is_not() -> None:
    cadence = [(7 * S, 60 * S)]
    assert due(cadence, since_us=0, until_us=(7 + 11 * 60) * S) == 11
    assert due(cadence, since_us=0, until_us=(7 + 11 * 60) * S + 1) == 12
    assert due(cadence, since_us=8 * S, until_us=(7 + 11 * 60) * S + 1) == 11
    assert due(cadence, since_us=7 * S, until_us=7 * S) == 0


def test_a_share_is_of_what_was_due_and_nothing_of_nothing() -> None:
    assert share(30, 60) == 0.5
    assert share(61, 60) == 1.0
    assert share(0, 0) is None


def test_neighbouring_slots_are_one_run() -> None:
    assert runs([10, 20, 30, 60], 10) == ((10, 40, 3), (60, 70, 1))
    assert runs([], 10) == ()


def test_a_span_is_cut_by_what_came_in_each_hour() -> None:
    hours = [
        Hour(at_us=0, stored=60, judged=60),
        Hour(at_us=H, stored=60, judged=60),
        Hour(at_us=2 * H, stored=60, judged=30),
        Hour(at_us=3 * H, stored=60, judged=0),
    ]
    found = pieces(hours, [(0, 60 * S)], since_us=0, until_us=5 * H, length_us=H)
    assert found == (
        Piece(since_us=0, until_us=2 * H, kind=Kind.GOOD),
        Piece(since_us=2 * H, until_us=3 * H, kind=Kind.PART),
        Piece(since_us=3 * H, until_us=4 * H, kind=Kind.FLAGGED),
        Piece(since_us=4 * H, until_us=5 * H, kind=Kind.ABSENT),
    )


def test_before_a_channel_was_read_there_is_nothing_to_miss() -> None:
    hours = [Hour(at_us=2 * H, stored=60, judged=60)]
    found = pieces(hours, [(2 * H, 60 * S)], since_us=0, until_us=3 * H, length_us=H)
    assert found == (Piece(since_us=2 * H, until_us=3 * H, kind=Kind.GOOD),)
