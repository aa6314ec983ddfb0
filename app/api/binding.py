"""What binds a user, for machines."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app import binding
from app.deps import Db, Now, Visible

router = APIRouter(tags=["users"])


@router.get("/users/{slug}/binds")
def binds(scope: Visible, db: Db, at: Now, slug: str) -> dict[str, Any]:
    """Every limit on a user today, by point and source: ordinance, permit, order and the others.

    ``strictest`` marks the strictest enforceable one of each basis. ``in_force: false`` is no
    limit, which is never compliance.
    """
    return binding.as_json(binding.binds(db, scope, binding.user_of(db, scope, slug), at=at))
