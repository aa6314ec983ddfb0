"""Leases: which worker polls which gateway. A worker lives as long as it says so in time.

A gateway (host and port) has one worker at most; each change of hands counts its epoch up. Living
workers share the gateways evenly. Those of a remote site, whose worker has a token, are left out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Select, any_, delete, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from compliance.errors import Refused
from compliance.records.tables import instrument, lease, token, worker

TTL = timedelta(seconds=6)
_CONFIGURATION = text(
    " UNION ALL ".join(
        f"SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {name} t"  # noqa: S608
        for name in ("gateway", "instrument", "channel", "channel_cadence")
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a worker polls: gateways by id, and how many of them it should hand over.

    claimed: those that it took now, because they were nobody's or their worker was down;
    configured: how many gateways there are.
    """

    gateways: frozenset[int]
    claimed: frozenset[int]
    surplus: int
    configured: int


def renew(db: Connection, name: str, *, spool: str, ttl: timedelta = TTL) -> Share:
    """Say that a worker lives, and take the gateways that are its share and nobody else's.

    Raises: Refused when the name belongs to another worker that lives, or to a remote site.
    """
    _beat(db, name, spool, ttl)
    _note_gateways(db)
    alive = set(db.scalars(_alive(ttl)))
    held = dict.fromkeys(alive, 0)
    counted = select(lease.c.worker, func.count()).group_by(lease.c.worker)
    total = 0
    for owner, count in db.execute(counted):
        total += count
        if owner in alive:
            held[owner] = count
    share = _share(held, name, total)
    lacks = share - held[name]
    claimed = _claim(db, name, alive=alive, most=lacks) if lacks > 0 else frozenset()
    mine = db.scalars(select(lease.c.gateway_id).where(lease.c.worker == name))
    return Share(
        gateways=frozenset(mine), claimed=claimed, surplus=max(0, -lacks), configured=total
    )


def _beat(db: Connection, name: str, spool: str, ttl: timedelta) -> None:
    if db.scalar(select(func.count()).where(token.c.worker == name, token.c.revoked_at.is_(None))):
        raise Refused(
            f"the name {name} belongs to the worker of a remote site; "
            "start this one with another --worker name"
        )
    now = func.clock_timestamp()
    row = upsert(worker).values(name=name, spool=spool, seen_at=now)
    beaten = db.scalar(
        row.on_conflict_do_update(
            index_elements=["name"],
            set_={"seen_at": now, "spool": spool},
            where=or_(worker.c.spool == spool, worker.c.seen_at < now - ttl),
        ).returning(worker.c.name)
    )
    if beaten is None:
        raise Refused(
            f"a worker {name} with another spool runs already; "
            "stop it, or start this one with another --worker name"
        )


def _alive(ttl: timedelta) -> Select[str]:
    return select(worker.c.name).where(worker.c.seen_at >= func.clock_timestamp() - ttl)


def _note_gateways(db: Connection) -> None:
    """A lease for each gateway that has an instrument and is no remote site's."""
    remote = select(token.c.id).where(
        token.c.revoked_at.is_(None), instrument.c.monitoring_point_id == any_(token.c.points)
    )
    ours = select(instrument.c.gateway_id).where(~remote.exists()).distinct()
    db.execute(delete(lease).where(lease.c.gateway_id.not_in(ours)))
    db.execute(upsert(lease).from_select(["gateway_id"], ours).on_conflict_do_nothing())


def _share(held: dict[str, int], name: str, total: int) -> int:
    """How many gateways a worker should have: an even share, the odd one where nobody lacks."""
    even, rest = divmod(total, len(held))
    lacking = any(count < even for owner, count in held.items() if owner != name)
    return even if lacking or not rest else even + 1


def _claim(db: Connection, name: str, *, alive: Collection[str], most: int) -> frozenset[int]:
    orphaned = or_(lease.c.worker.is_(None), lease.c.worker.not_in(alive))
    free = (
        select(lease.c.gateway_id)
        .where(orphaned)
        .order_by(lease.c.gateway_id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    found = frozenset(db.scalars(free))
    _pass_on(db, found, to=name)
    return found


def _pass_on(db: Connection, gateways: Collection[int], *, to: str | None) -> None:
    db.execute(
        update(lease)
        .where(lease.c.gateway_id.in_(gateways))
        .values(worker=to, epoch=lease.c.epoch + 1, since=func.now())
    )


def hand_over(
    db: Connection, name: str, gateways: Collection[int], *, ttl: timedelta = TTL
) -> None:
    """Give gateways that a worker has stopped polling to whoever living has fewest."""
    counts = (
        select(worker.c.name)
        .outerjoin(lease, lease.c.worker == worker.c.name)
        .where(worker.c.name.in_(_alive(ttl)), worker.c.name != name)
        .group_by(worker.c.name)
        .order_by(func.count(lease.c.gateway_id), worker.c.name)
    )
    own = select(lease.c.gateway_id).where(lease.c.worker == name, lease.c.gateway_id.in_(gateways))
    for gateway in list(db.scalars(own.with_for_update())):
        _pass_on(db, [gateway], to=db.scalar(counts.limit(1)))


def leave(db: Connection, name: str) -> None:
    """A worker ends: its gateways are anybody's at once."""
    _pass_on(
        db, list(db.scalars(select(lease.c.gateway_id).where(lease.c.worker == name))), to=None
    )
    db.execute(delete(worker).where(worker.c.name == name))


def configuration(db: Connection) -> str:
    """A mark of all that decides what is polled: another one when any of it has changed."""
    return "/".join(mark or "" for mark in db.scalars(_CONFIGURATION))


def holders(db: Connection) -> dict[int, tuple[str | None, int]]:
    """Who polls each gateway, and its epoch."""
    rows = db.execute(select(lease.c.gateway_id, lease.c.worker, lease.c.epoch))
    return {gateway: (owner, epoch) for gateway, owner, epoch in rows}
