"""The health of instruments."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter

from app import auth
from app.checkup import Channel, Checkup, checkup
from app.deps import Db, Now, SignedIn, Visible
from app.inputs import Id
from app.instruments import Due, Line, lines
from compliance.model.periods import from_us
from compliance.model.windows import Declared
from compliance.records import instruments

router = APIRouter(tags=["instruments"])


@router.get("/instruments")
def listed(viewer: SignedIn, scope: Visible, db: Db, at: Now) -> dict[str, Any]:
    """Every instrument: its state, its last good reading, its clock, gaps, the next calibration."""
    found = lines(db, scope, at=at, inside=auth.may(viewer, "operate"))
    return {"instruments": [_line(one) for one in found]}


@router.get("/instruments/{instrument_id}")
def instrument(
    viewer: SignedIn, scope: Visible, db: Db, at: Now, instrument_id: Id
) -> dict[str, Any]:
    """One instrument with each channel, the gaps of seven days, its clock, windows, calibrations.

    ``complete`` is a share in percent of the slots that were due; ``clock`` is null where the
    instrument tells no time.
    """
    device = instruments.one(db, scope, instrument_id)
    found = checkup(db, scope, device, at=at, inside=auth.may(viewer, "operate"))
    return {
        **_line(found.line),
        "channels": [_channel(one) for one in found.channels],
        "windows": [_window(one) for one in found.windows],
        "clock_record": _clock(found),
        "worker": found.worker,
        "thrown_away": found.thrown_away,
    }


def _line(one: Line) -> dict[str, Any]:
    shape, _, state = one.state.partition(" ")
    return {
        "instrument": one.device.id,
        "point": one.device.point,
        "industrial_user": one.device.industrial_user,
        "gateway": one.device.gateway,
        "unit": one.device.unit_id,
        "map": one.device.map_name,
        "state": state,
        "shape": shape,
        "why": one.why,
        "last_good_at": _iso(one.at),
        "clock": one.clock,
        "clock_is_wrong": one.clock_is_wrong,
        "gaps_24h": list(one.gaps),
        "calibration": _due(one.due),
    }


def _channel(one: Channel) -> dict[str, Any]:
    signal = one.tile.signal
    newest = one.newest
    return {
        "channel": signal.channel_id,
        "parameter": signal.parameter,
        "entry": signal.entry,
        "unit": signal.unit,
        "interval_s": signal.interval_ms / 1000,
        "silent": one.tile.silent,
        "window": one.tile.held.number if one.tile.held else None,
        "why": one.tile.why,
        "last_good_at": _iso(one.tile.at),
        "newest": newest
        and {
            "at": newest.at.isoformat(),
            "shown": newest.shown,
            "quality": newest.quality,
            "words": [f"0x{word:04X}" for word in newest.words],
        },
        "counts_since": _iso(one.counts_since),
        "complete": {
            name: {"judged": came.judged, "stored": came.stored, "due": came.due}
            for name, came in (("24h", one.day), ("7d", one.week))
        },
        "seconds_in_windows_7d": int(one.in_windows.total_seconds()),
        "gaps": [
            {
                "from": hole.since.isoformat(),
                "to": hole.until.isoformat(),
                "cause": hole.cause,
                "says": hole.says,
            }
            for hole in one.holes
        ],
        "gaps_left_out": one.more_holes,
        "flagged_24h": [{"why": said, "readings": count} for said, count in one.flagged],
        "calibration": _due(one.due),
        "calibrations": [
            {
                "at": made.at.isoformat(),
                "by": made.by,
                "drift": made.drift,
                "standards": [
                    {"standard": s.standard, "before": s.before, "after": s.after}
                    for s in made.standards
                ],
            }
            for made in one.calibrations
        ],
    }


def _window(one: Declared) -> dict[str, Any]:
    return {
        "window": one.number,
        "channels": list(one.channels),
        "from": one.since.isoformat(),
        "to": _iso(one.until),
        "kind": one.kind.value,
        "reason": one.reason,
        "declared_by": one.declared_by,
        "declared_at": one.declared_at.isoformat(),
        "says": one.when_declared,
        "withdrawn_by": one.withdrawn_by,
        "withdrawn_at": _iso(one.withdrawn_at),
        "withdrawn_why": one.withdrawn_why,
    }


def _clock(found: Checkup) -> dict[str, Any] | None:
    if found.clock is None:
        return None
    return {
        "offset_ms": found.clock.offset_ms,
        "drift_ms_day": found.clock.drift_ms_day,
        "says": found.clock.says,
        "moves": [
            {"at": from_us(one.at_us).isoformat(), "by_ms": one.by_ms, "says": one.says}
            for one in found.clock.moves
        ],
    }


def _due(one: Due) -> dict[str, Any]:
    return {
        "last_at": _iso(one.last),
        "every_days": one.days,
        "due_on": one.on.isoformat() if one.on else None,
        "says": one.says[2:],
    }


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
