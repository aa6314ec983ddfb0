"""Where a person may send questions: within reach, and to no gateway of another city."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection

from app import guard
from compliance.errors import InputError, Refused
from compliance.model.endpoints import Transport, endpoint
from compliance.model.reach import Address, Reach
from compliance.model.sites import Gateway
from compliance.records import setting_up
from compliance.records.scope import Scope

LOOK_UP_SECONDS = 5.0


def require(db: Connection, scope: Scope, wanted: Gateway, *, reach: Reach) -> None:
    """Let a place that somebody typed pass, or not.

    A worker looks its name up again and checks that too; a name is looked up here first, since
    it may lead to another city's gateway.
    Raises: InputError.
    """
    place = endpoint(wanted.host, wanted.port, wanted.transport)
    is_serial = place.transport is Transport.SERIAL
    addresses = () if is_serial else _looked_up(wanted)
    if not _is_own(db, scope, wanted):
        reach.require(place, tuple(addresses))
    if any(_is_same(wanted, addresses, one) for one in setting_up.of_others(db, scope)):
        raise InputError(
            f"{place.where} is a gateway of another city; expected one of yours, or a new one"
        )


def _is_own(db: Connection, scope: Scope, wanted: Gateway) -> bool:
    own = setting_up.gateways(db, scope)
    return any((one.host, one.port) == (wanted.host, wanted.port) for one in own)


def _looked_up(wanted: Gateway) -> Collection[Address]:
    try:
        found = guard.looked_up(wanted.host, wanted.port, seconds=LOOK_UP_SECONDS)
    except Refused as error:
        raise InputError(f"{error}; expected a name that is known here, or an address") from None
    return {getattr(one, "ipv4_mapped", None) or one for one in found}


def _is_same(wanted: Gateway, addresses: Collection[Address], other: Gateway) -> bool:
    """Whether two gateways are one, however its host is written."""
    if wanted.port != other.port:
        return False
    if wanted.host.casefold().rstrip(".") == other.host.casefold().rstrip("."):
        return True
    if not addresses:
        return False
    try:
        return not set(_looked_up(other)).isdisjoint(addresses)
    except InputError:
        return False
