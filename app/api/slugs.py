"""Possible slugs: what the program's screening found, and what people made of it."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from app import slug_files
from app.deps import Db, Now, Visible
from compliance.records import slugs

router = APIRouter(tags=["findings"])


@router.get("/slugs")
def listed(
    scope: Visible, db: Db, outcome: Literal["", "open", "slug", "explained"] = ""
) -> dict[str, Any]:
    """Possible slugs that stand, newest first; ``outcome`` narrows by what was decided."""
    found = slugs.events(db, scope, outcome=outcome)
    return {"slugs": [slug_files.summary(one) for one in found]}


@router.get("/slugs/{exceedance_id}")
def one(scope: Visible, db: Db, at: Now, exceedance_id: str) -> dict[str, Any]:
    """One possible slug with notes, bottles, clocks and decisions."""
    return slug_files.to_json(slug_files.file_of(db, scope, exceedance_id), at=at)
