"""Leases: who polls which gateway, and what becomes of it when somebody comes or goes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, insert, update

from compliance.errors import Refused
from compliance.records import leases, sites
from compliance.records import tables as t


def put(db: Connection, table: object, **values: object) -> int:
    return db.scalar(insert(table).values(**values).returning(table.c.id))  # type: ignore[attr-defined]


def gateways(db: Connection, count: int) -> list[int]:
    """So many gateways, each with an instrument; points are numbered as they are."""
    city = put(
        db,
        t.city,
        slug="c",
        name="C",
        zone="UTC",
        rulebooks=[],
        control_authority="a",
        ordinance_authority="b",
        billing_authority="c",
    )
    user = put(
        db,
        t.industrial_user,
        city_id=city,
        slug="u",
        name="U",
        makes="m",
        is_significant=True,
        category="C",
        water_meter="2 in",
    )
    found = []
    for n in range(count):
        point = put(db, t.monitoring_point, industrial_user_id=user, code=f"P-{n}", place="p")
        gateway = put(db, t.gateway, name=f"g{n}", host="127.0.0.1", port=1000 + n)
        put(
            db,
            t.instrument,
            gateway_id=gateway,
            monitoring_point_id=point,
            unit_id=1,
            map_name="m",
        )
        found.append(gateway)
    return found


def renew(db: Connection, name: str) -> leases.Share:
    return leases.renew(db, name, spool=f"spool of {name}")


def silence(db: Connection, name: str) -> None:
    """As if a worker had been killed longer ago than it may be silent."""
    gone = t.worker.c.seen_at - 2 * leases.TTL
    db.execute(update(t.worker).where(t.worker.c.name == name).values(seen_at=gone))


def settled(db: Connection, *names: str) -> Counter[str | None]:
    """Everybody renews and hands over until nothing moves; how many gateways each then has."""
    for _ in range(4):
        for name in names:
            share = renew(db, name)
            leases.hand_over(db, name, sorted(share.gateways)[: share.surplus])
    return Counter(owner for owner, _ in leases.holders(db).values())


def test_one_worker_takes_every_gateway_with_an_instrument(db: Connection) -> None:
    known = gateways(db, 3)
    put(db, t.gateway, name="empty", host="h", port=1)
    share = renew(db, "a")
    assert share.gateways == share.claimed == frozenset(known)
    assert (share.surplus, share.configured) == (0, 3)
    assert renew(db, "a").claimed == frozenset()


@pytest.mark.parametrize(
    ("count", "expected"), [(6, [2, 2, 2]), (7, [2, 2, 3]), (2, [1, 1]), (1, [1]), (0, [])]
)
def test_living_workers_share_evenly(db: Connection, count: int, expected: list[int]) -> None:
    gateways(db, count)
    renew(db, "a")
    assert sorted(settled(db, "a", "b", "c").values()) == expected


def test_what_is_handed_over_changes_hands_once(db: Connection) -> None:
    gateways(db, 4)
    settled(db, "a")
    settled(db, "a", "b")
    before = leases.holders(db)
    assert sorted(epoch for _, epoch in before.values()) == [1, 1, 2, 2]
    settled(db, "a", "b")
    assert leases.holders(db) == before


def test_the_gateways_of_a_killed_worker_go_to_those_that_live(db: Connection) -> None:
    gateways(db, 4)
    settled(db, "a", "b")
    silence(db, "a")
    share = renew(db, "b")
    assert len(share.gateways) == 4
    assert len(share.claimed) == 2
    assert settled(db, "a", "b") == {"a": 2, "b": 2}, "and come back with it"


def test_who_leaves_frees_its_gateways_at_once(db: Connection) -> None:
    gateways(db, 3)
    settled(db, "a", "b")
    leases.leave(db, "a")
    assert len(renew(db, "b").gateways) == 3


def test_one_name_is_one_spool(db: Connection) -> None:
    renew(db, "a")
    with pytest.raises(Refused, match="another --worker name"):
        leases.renew(db, "a", spool="another spool")
    silence(db, "a")
    leases.renew(db, "a", spool="another spool")


def test_the_gateways_of_a_remote_site_are_left_to_it(db: Connection) -> None:
    known = gateways(db, 3)
    point = db.scalar(t.instrument.select().with_only_columns(t.instrument.c.monitoring_point_id))
    renew(db, "a")
    put(db, t.token, worker="far", sha256="x", points=[point])
    share = renew(db, "a")
    assert share.gateways == frozenset(known[1:])
    with pytest.raises(Refused, match="remote site"):
        renew(db, "far")


def test_a_change_of_what_is_polled_changes_its_mark(db: Connection) -> None:
    gateways(db, 2)
    before = leases.configuration(db)
    assert leases.configuration(db) == before
    db.execute(update(t.gateway).values(host="10.0.0.1").where(t.gateway.c.name == "g0"))
    assert leases.configuration(db) != before
    assert {p.gateway.host for p in sites.polled(db)} == {"10.0.0.1", "127.0.0.1"}


def test_many_who_start_at_once_never_share_a_gateway(engine: Engine) -> None:
    with engine.begin() as db:
        known = gateways(db, 20)

    def start(name: str) -> frozenset[int]:
        with engine.begin() as db:
            return renew(db, name).claimed

    with ThreadPoolExecutor(6) as pool:
        claimed = list(pool.map(start, "abcdef"))
    assert sum(map(len, claimed)) == len(frozenset().union(*claimed)) == len(known)
