"""The overnight board and the live tiles: what needs a person first."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from itertools import groupby
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app import auth, messages
from app.deps import Db, Now, SignedIn, Visible
from app.limits import bounds
from app.templating import page
from app.tiles import Tile, held, mute, ordered, silent, tile, uncommissioned
from app.wording import facts, headline, names
from compliance.jobs import stack
from compliance.model.sites import Viewer
from compliance.records import board, casefile, health, outbox, places, readings, reviews, windows
from compliance.records.casefile import Case, Screened
from compliance.records.scope import Scope

router = APIRouter()

OFFICE_CLOSES = time(16)
NEWEST = timedelta(hours=24)
NO_SIGN_OF_LIFE = timedelta(seconds=15)
"""Three beats missed: a page says so then; ``/readyz`` gives a process a minute."""
WEEK = timedelta(days=7)
AFTERWARDS = timedelta(hours=6)
NOTEWORTHY = ("reached", "unsettled", "projected", "approaching")
SHARES = {name: place for place, name in enumerate(("flow", "bod5", "tss", "tp"))}


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
            "to_decide": [
                told(one) for one in sorted(waiting, key=lambda one: one.starts_at, reverse=True)
            ],
            **_slugs(db, scope, since=since, at=at),
            "silent": silent(tiles),
            "mute": mute(tiles),
            "held": held(tiles),
            "uncommissioned": uncommissioned(tiles),
            "ingest_lives": _ingest_lives(db, at),
            "shares": shares(board.triggers(db, scope, states=(*NOTEWORTHY, "below"))),
            "failing": _failing(db, viewer),
            "changed": reviews.open_of(db, scope) if auth.may(viewer, "settle") else {},
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


def _ingest_lives(db: Connection, at: datetime) -> bool:
    beats = [one for one in health.beats(db) if one.process.startswith("ingest")]
    return any(at - one.at <= NO_SIGN_OF_LIFE for one in beats)


def told(case: Case | Screened) -> dict[str, Any]:
    """What was found with its words."""
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
    signals = ordered(places.signals(db, scope))
    called = names(signals)
    ids = [one.channel_id for one in signals]
    latest = readings.latest(db, ids, since=at - NEWEST, until=soon(at))
    declared = windows.by_channel(db, ids, since=at, until=soon(at))
    bound = stack.of(db)
    return {
        one.channel_id: tile(
            one,
            latest.get(one.channel_id),
            bounds(one, at, bound),
            name=called[one.channel_id],
            now=at,
            windows=declared.get(one.channel_id, ()),
        )
        for one in signals
    }


def shares(
    facts: tuple[board.TriggerFact, ...],
) -> list[tuple[str, tuple[board.TriggerFact, ...]]]:
    """The shares of each user of whom one is noteworthy, all of his side by side."""
    by_user: dict[str, list[board.TriggerFact]] = {}
    for one in facts:
        by_user.setdefault(one.industrial_user, []).append(one)
    return [
        (user, tuple(sorted(mine, key=lambda one: SHARES.get(one.parameter, len(SHARES)))))
        for user, mine in by_user.items()
        if any(one.state in NOTEWORTHY for one in mine)
    ]


def _slugs(db: Connection, scope: Scope, *, since: datetime, at: datetime) -> dict[str, Any]:
    """Possible slugs since yesterday afternoon; where there is none, those of a week."""
    week = casefile.screened(db, scope, since=at - WEEK, kind="possible_slug")
    overnight = [one for one in week if one.ends_at >= since]
    found = overnight or week
    return {
        "slugs": [{**told(one), "address": _chart_of(one, at)} for one in found],
        "slugs_of_week": bool(week) and not overnight,
    }


def _chart_of(one: Screened, at: datetime) -> str:
    """The chart that shows it: of then, or of now where it is not long ago."""
    address = f"/points/{one.point}?parameter={one.parameter}"
    end = one.ends_at + AFTERWARDS
    return address if end > at else f"{address}&until={quote(end.isoformat())}"


def _failing(db: Connection, viewer: Viewer) -> list[tuple[outbox.Endpoint, str]]:
    """Receivers that fail, each with what the viewer may know of its address."""
    if not auth.may(viewer, "operate"):
        return []
    ends = outbox.endpoints(db, city_id=viewer.city_id)
    failing = [one for one in ends if one.failing_since or one.state != "working"]
    return [(one, messages.receiver(viewer, one)) for one in failing]


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
    if tiles and not any(one.signal.counts for one in tiles):
        return "◇ Not commissioned"
    if tiles and all(one.silent or one.held for one in tiles):
        return "◇ No data" if any(one.silent for one in tiles) else "◇ In a declared window"
    return "● Nothing open" if tiles else "◇ No instrument"
