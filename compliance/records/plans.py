"""What is to be polled, as JSON: kept by a worker beside its spool, and sent to a remote site."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.records import sites
from compliance.records.sites import GatewayPlan, InstrumentPlan

_PLANS = TypeAdapter(tuple[GatewayPlan, ...])


def encoded(plans: tuple[GatewayPlan, ...]) -> bytes:
    """Plans as JSON."""
    return _PLANS.dump_json(plans)


def decoded(content: bytes) -> tuple[GatewayPlan, ...]:
    """Plans from their JSON.

    Raises: InputError where it is none, or of another release.
    """
    try:
        return _PLANS.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"what is to be polled cannot be read at {where or 'its beginning'}: {first['msg']}; "
            "it must come from a server of this release"
        ) from None


def of_points(db: Connection, points: Collection[int]) -> tuple[GatewayPlan, ...]:
    """What is polled for some monitoring points, by their ids: nothing of any other."""
    found = []
    for plan in sites.polled(db):
        instruments = tuple(
            InstrumentPlan(
                instrument=one.instrument,
                channels=tuple(c for c in one.channels if c.point_id in points),
            )
            for one in plan.instruments
            if any(c.point_id in points for c in one.channels)
        )
        if instruments:
            found.append(GatewayPlan(gateway=plan.gateway, instruments=instruments))
    return tuple(found)
