"""A point's volumes and composites by civil days."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from app import volumes
from app.deps import Db, Now, Visible
from app.inputs import Day

router = APIRouter(tags=["points"])


@router.get("/points/{code}/volume")
def point_volumes(  # noqa: PLR0913 - what a request brings
    scope: Visible,
    db: Db,
    at: Now,
    code: str,
    first: Annotated[Day | None, Query(alias="from")] = None,
    last: Annotated[Day | None, Query(alias="to")] = None,
    entry: str = "",
) -> dict[str, Any]:
    """The volume of each civil day at the plant, from the totalizer with its events.

    The flow integral and its completeness stand beside it, and how far the two lie apart over the
    time that both cover. ``composites`` are those of the sampler that belong to these days. Today
    where no day is named; up to 31 days. ``entry`` names the total where a point has several.
    """
    found = volumes.shown(db, scope, code, first=first, last=last, entry=entry, now=at)
    if found is None:
        return {"point": code, "total": None, "flow": None, "days": [], "composites": []}
    return volumes.as_json(found)
