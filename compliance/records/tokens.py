"""Tokens of remote sites: whose frames are taken, and for which monitoring points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from compliance.errors import InputError, NotFound
from compliance.records.tables import batch, channel, instrument, monitoring_point, token, worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A remote site's worker and the ids of the points it may send for."""

    worker: str
    points: frozenset[int]


def add(db: Connection, *, worker_name: str, sha256: str, points: Sequence[str]) -> None:
    """A new token; only its digest is kept. points: codes such as MH-1.

    Raises: InputError where a point is unknown, where a gateway also serves a point that is not
    named, or where the worker's name is in use.
    """
    ids = _points(db, points)
    _refuse_shared_gateways(db, ids)
    _refuse_used_name(db, worker_name)
    db.execute(
        token.insert().values(worker=worker_name, sha256=sha256, points=sorted(ids.values()))
    )


def _points(db: Connection, codes: Sequence[str]) -> dict[str, int]:
    known = dict(db.execute(select(monitoring_point.c.code, monitoring_point.c.id)).all())
    for code in codes:
        if code not in known:
            raise InputError(
                f"--points names {code!r}, which is no monitoring point; "
                f"expected some of {', '.join(sorted(known)) or 'none, there are no points yet'}"
            )
    return {code: known[code] for code in codes}


def _refuse_shared_gateways(db: Connection, points: dict[str, int]) -> None:
    own = select(instrument.c.gateway_id).where(
        instrument.c.monitoring_point_id.in_(points.values())
    )
    other = db.scalar(
        select(monitoring_point.c.code)
        .join(instrument, instrument.c.monitoring_point_id == monitoring_point.c.id)
        .where(instrument.c.gateway_id.in_(own), monitoring_point.c.id.not_in(points.values()))
        .limit(1)
    )
    if other is not None:
        raise InputError(
            f"--points leaves out {other}, which is behind the same gateway as one of them; "
            "a gateway is polled by one worker: name all its points"
        )


def _refuse_used_name(db: Connection, name: str) -> None:
    """A worker's name is part of its batches' keys: two workers of one name would hide readings."""
    used = select(func.count()).select_from(batch).where(batch.c.worker == name)
    here = select(func.count()).select_from(worker).where(worker.c.name == name)
    again = select(func.count()).select_from(token).where(token.c.worker == name)
    if any(db.scalar(query) for query in (used, here, again)):
        raise InputError(
            f"--worker is {name!r}, which has been used already; choose a name of its own"
        )


def known(db: Connection, sha256: str) -> Token | None:
    """The token of a digest; None where there is none, or it was revoked."""
    row = db.execute(
        select(token.c.worker, token.c.points).where(
            token.c.sha256 == sha256, token.c.revoked_at.is_(None)
        )
    ).first()
    return Token(worker=row.worker, points=frozenset(row.points)) if row else None


def channels(db: Connection, of: Token) -> frozenset[int]:
    """The ids of the channels that a token may send readings of."""
    own = channel.c.monitoring_point_id.in_(of.points)
    return frozenset(db.scalars(select(channel.c.id).where(own)))


def revoke(db: Connection, worker_name: str, *, now: datetime) -> None:
    """A token is good for nothing from here on; its name stays used.

    Raises: NotFound.
    """
    done = db.execute(
        update(token)
        .where(token.c.worker == worker_name, token.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    if not done.rowcount:
        raise NotFound(f"there is no token of a worker {worker_name!r} that is in force")


def listed(db: Connection) -> list[dict[str, object]]:
    """Every token as plain values: worker, points by their codes, made_at, revoked_at."""
    codes = dict(db.execute(select(monitoring_point.c.id, monitoring_point.c.code)).all())
    rows = db.execute(select(token).order_by(token.c.worker)).mappings()
    return [
        {
            "worker": row["worker"],
            "points": [codes.get(point, f"point {point}") for point in row["points"]],
            "made_at": row["made_at"].isoformat(),
            "revoked_at": row["revoked_at"].isoformat() if row["revoked_at"] else None,
        }
        for row in rows
    ]
