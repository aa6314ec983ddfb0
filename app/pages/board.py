"""The overnight board and the live tiles: what needs a person first."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app import auth
from app.deps import Db, Now, SignedIn, Visible
from app.limits import bounds
from app.templating import page
from app.tiles import Tile, silent, tile
from app.wording import facts, headline
from compliance.model.sites import Viewer
from compliance.records import board, casefile, outbox, places, readings
from compliance.records.casefile import Case
from compliance.records.scope import Scope

router = APIRouter()

OFFICE_CLOSES = time(16)
NEWEST = timedelta(hours=24)


@router.get("/")
def overnight(request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now) -> Response:
    """What happened since yesterday 16:00 at the plant."""
    zone = places.zone(db, scope)
    since = yesterday_afternoon(at, zone)
    waiting = casefile.cases(db, scope, states=("detected", "waiting"))
    tiles = newest_tiles(db, scope, at)
    return page(
        request,
        "board.html",
        {
            "zone": zone,
            "now": at,
            "since": since,
            "to_decide": [told(one) for one in waiting if one.kind != "possible_slug"],
            "slugs": [told(one) for one in waiting if one.kind == "possible_slug"],
            "silent": silent(tiles),
            "triggers": board.triggers(db, scope),
            "failing": _failing(db, viewer),
            "users": _users(db, scope, tiles),
            "since_count": len(casefile.cases(db, scope, since=since)),
            "readings": board.readings_taken(db, list(tiles), since=since, until=soon(at)),
            "count": board.to_decide(db, scope),
        },
    )


@router.get("/live")
def live(request: Request, viewer: SignedIn, scope: Visible, db: Db, at: Now) -> Response:
    """A tile for every monitoring point."""
    tiles = newest_tiles(db, scope, at)
    by_point = [
        (point, list(group))
        for point, group in groupby(
            tiles.values(), key=lambda one: (one.signal.industrial_user, one.signal.point)
        )
    ]
    return page(
        request,
        "live.html",
        {"zone": places.zone(db, scope), "now": at, "points": by_point},
    )


def told(case: Case) -> dict[str, Any]:
    """A detection with its words."""
    return {"case": case, "headline": headline(case), "facts": facts(case)}


def yesterday_afternoon(at: datetime, zone: str) -> datetime:
    """Yesterday 16:00 at the plant."""
    there = ZoneInfo(zone)
    yesterday = at.astimezone(there).date() - timedelta(days=1)
    return datetime.combine(yesterday, OFFICE_CLOSES, there)


def soon(at: datetime) -> datetime:
    """A little later: a reading of this very second counts too."""
    return at + timedelta(seconds=1)


def newest_tiles(db: Connection, scope: Scope, at: datetime) -> dict[int, Tile]:
    """A tile of each channel in a scope."""
    signals = places.signals(db, scope)
    latest = readings.latest(db, [one.channel_id for one in signals], since=at - NEWEST)
    return {
        one.channel_id: tile(one, latest.get(one.channel_id), bounds(one, at), now=at)
        for one in signals
    }


def _failing(db: Connection, viewer: Viewer) -> list[outbox.Endpoint]:
    if not auth.may(viewer, "operate"):
        return []
    ends = outbox.endpoints(db, city_id=viewer.city_id)
    return [one for one in ends if one.failing_since or one.state != "working"]


def _users(db: Connection, scope: Scope, tiles: dict[int, Tile]) -> list[dict[str, Any]]:
    standings = board.standings(db, scope)
    rows = []
    for user in places.users(db, scope):
        mine = [one for one in tiles.values() if one.signal.industrial_user_id == user.id]
        rows.append(
            {
                "user": user,
                "standing": standings[user.id],
                "tiles": mine,
                "state": _state(standings[user.id], mine),
            }
        )
    return rows


def _state(standing: board.Standing, tiles: list[Tile]) -> str:
    """A user's state by shape and word; never "compliant": the program cannot say that."""
    if standing.violations:
        return "▲ Violation open"
    if standing.to_decide:
        return "▲ To decide"
    if tiles and all(one.silent for one in tiles):
        return "◇ No data"
    return "● Nothing open" if tiles else "◇ No instrument"
