"""A person corrects stored readings, all of a list or none, in one audited transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError
from compliance.jobs import foresee as foreseeing
from compliance.jobs.foresee import Foreseen
from compliance.model.corrections import MOST
from compliance.model.periods import Window
from compliance.records import audit, dirt, overlay, readings
from compliance.records.overlay import Correction

APART = timedelta(hours=1)
"""Corrected readings farther from each other are marked each for themselves."""


def check(corrections: Sequence[Correction], *, reason: str) -> None:
    """Refuse what no list of corrections can be. Raises: InputError."""
    if not corrections:
        raise InputError("There is no correction in it; give at least one reading.")
    if len(corrections) > MOST:
        raise InputError(
            f"It has {len(corrections):,} readings; expected at most {MOST:,} at once: split it."
        )
    seen: set[datetime] = set()
    for one in corrections:
        if one.read_at in seen:
            raise InputError(f"{one.read_at.isoformat()} stands in it twice; give it once.")
        seen.add(one.read_at)
    if len(reason.strip()) < SHORTEST_REASON:
        raise InputError(f"Write at least {SHORTEST_REASON} characters: it is read at a hearing.")


def foresee(
    engine: Engine, channel_id: int, corrections: Sequence[Correction], *, now: datetime
) -> Foreseen:
    """What corrections would do to findings: they are made, looked at, and taken back.

    Raises: InputError, NotFound.
    """
    with engine.begin() as db:
        dirt.lock(db, [channel_id])  # versions of one reading are made one after another
        return _foreseen(db, channel_id, corrections, now=now)


def _foreseen(
    db: Connection, channel_id: int, corrections: Sequence[Correction], *, now: datetime
) -> Foreseen:
    whole = _around(corrections)
    _, place = foreseeing.found(db, channel_id)
    before = readings.usable(db, [channel_id], since=whole.start, until=whole.end)
    tried = db.begin_nested()
    try:
        said = overlay.correct(db, channel_id, corrections, reason="foreseen", by="nobody")
        seen = foreseeing.foresee(
            db, channel_id, since=whole.start, until=whole.end, lay=lambda series: series, now=now
        )
    finally:
        tried.rollback()
    return Foreseen(
        readings=len(corrections),
        judged_before=foreseeing.judged(before[channel_id], place),
        judged_after=seen.judged_after,
        touched=seen.touched,
        said=said,
    )


def correct(  # noqa: PLR0913 - an act and who does it
    engine: Engine,
    channel_id: int,
    corrections: Sequence[Correction],
    *,
    reason: str,
    by: str,
    seen: tuple[str, datetime] | None = None,
) -> int | None:
    """Keep corrected readings and have them judged anew; how many.

    by: name and office. seen: the seal of what was foreseen, and now; None is given back and
    nothing kept where it no longer holds, be it by the same button pressed twice. What was read
    first stays, and every earlier correction.

    Raises: InputError, where one of them corrects no stored reading too; then none is kept.
    """
    check(corrections, reason=reason)
    why = reason.strip()
    with engine.begin() as db:
        dirt.lock(db, [channel_id])
        if seen is not None and seen[0] != _foreseen(db, channel_id, corrections, now=seen[1]).seal:
            return None
        overlay.correct(db, channel_id, corrections, reason=why, by=by)
        for span in _spans(corrections):
            readings.mark_dirty(
                db, [channel_id], since=span.start, until=span.end, why="correction"
            )
        _note(db, channel_id, corrections, reason=why, by=by)
    return len(corrections)


def _note(
    db: Connection, channel_id: int, corrections: Sequence[Correction], *, reason: str, by: str
) -> None:
    detail = {
        "channel": channel_id,
        "reason": reason,
        "readings": [
            {"at": one.read_at, "value": one.value, "quality": int(one.quality)}
            for one in sorted(corrections, key=lambda each: each.read_at)
        ],
    }
    audit.note(db, by=by, act="correct readings", subject=f"channel:{channel_id}", detail=detail)


def _around(corrections: Sequence[Correction]) -> Window:
    at = [one.read_at for one in corrections]
    return Window(start=min(at), end=max(at) + timedelta(microseconds=1))


def _spans(corrections: Sequence[Correction]) -> Iterator[Window]:
    """The instants of corrections as spans."""
    at = sorted(one.read_at for one in corrections)
    start = last = at[0]
    for each in at[1:]:
        if each - last > APART:
            yield Window(start=start, end=last + timedelta(microseconds=1))
            start = each
        last = each
    yield Window(start=start, end=last + timedelta(microseconds=1))
