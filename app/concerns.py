"""Which processes and faults concern a city: the others' are not its business."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from compliance.model.sites import Viewer
from compliance.records import board, health, instruments, places
from compliance.records.health import Beat, Fault
from compliance.records.scope import Scope

EVERYWHERE = Scope(city_id=None, industrial_user_id=None)
INGEST = "ingest "


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """What a viewer is told of the installation. others: how many faults he is not shown."""

    beats: tuple[Beat, ...]
    faults: tuple[Fault, ...]
    others: int
    quarantined: int


def concern(db: Connection, viewer: Viewer, scope: Scope, *, since: datetime) -> Concern:
    """Processes, faults and unstored frames since an instant, as far as they concern a viewer.

    All of them for administrators of the installation, and where there is one city alone.
    """
    beats, faults = health.beats(db), health.faults(db, since=since)
    everywhere = places.users(db, EVERYWHERE)
    if viewer.city_id is None or len({one.city for one in everywhere}) < 2:
        held = board.quarantined(db, since=since)
        return Concern(beats=beats, faults=faults, others=0, quarantined=held)
    own, foreign = _workers(db, scope)
    mine = names(db, scope)
    others = names(db, EVERYWHERE) - mine
    told = tuple(one for one in faults if _is_mine(one, own=own, mine=mine, others=others))
    return Concern(
        beats=tuple(one for one in beats if one.process.removeprefix(INGEST) not in foreign),
        faults=told,
        others=len(faults) - len(told),
        quarantined=board.quarantined(db, since=since, workers=own),
    )


def _workers(db: Connection, scope: Scope) -> tuple[set[str], set[str]]:
    """The workers that poll a gateway of a scope, and those that poll others' alone."""
    pollers = instruments.pollers(db)
    gateways = {one.gateway_id for one in instruments.all_of(db, scope)}
    own = {worker for gateway, worker in pollers.items() if gateway in gateways}
    return own, set(pollers.values()) - own


def names(db: Connection, scope: Scope) -> set[str]:
    """What a fault may call the users, points and gateways of a scope."""
    found = {part for one in places.users(db, scope) for part in (one.name, one.slug)}
    found |= set(places.point_codes(db, scope))
    return found | {one.gateway for one in instruments.all_of(db, scope)}


def _is_mine(
    fault: Fault, *, own: Collection[str], mine: Collection[str], others: Collection[str]
) -> bool:
    """It names somebody or something of the city and nothing of another, or its worker's all is."""
    if _names_any(fault.what, others):
        return False
    return _names_any(fault.what, mine) or fault.process.removeprefix(INGEST) in own


def _names_any(text: str, wanted: Collection[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", text) for one in wanted)
