"""Webhook messages as a viewer may see them: whose receiver it is, and what a body may tell."""

from __future__ import annotations

from dataclasses import replace

from app.auth import may
from compliance.model.sites import Role, Viewer
from compliance.records.outbox import Delivery, Endpoint

OF_ALL_CITIES = "a receiver of all cities"
BILLS = "bill."


def receiver(viewer: Viewer, one: Endpoint) -> str:
    """Where a receiver stands; one of all cities is the administrator's business."""
    return one.url if _may_know(viewer, one.city_id) else OF_ALL_CITIES


def seen(viewer: Viewer, one: Delivery) -> Delivery:
    """A delivery without what is not the viewer's: another's address, a body that tells of a bill.

    An empty body is one that is not shown.
    """
    if not _may_know(viewer, one.endpoint_city_id):  # what came back may name the receiver too
        one = replace(
            one,
            url=OF_ALL_CITIES,
            attempts=tuple(replace(tried, answer="") for tried in one.attempts),
        )
    if one.type.startswith(BILLS) and not may(viewer, "read bills"):
        one = replace(one, body="")
    return one


def _may_know(viewer: Viewer, endpoint_city_id: int | None) -> bool:
    return endpoint_city_id is not None or viewer.role is Role.ADMINISTRATOR
