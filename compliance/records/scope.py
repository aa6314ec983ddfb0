"""Whose rows may be read: every query for people takes a Scope and narrows itself by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, true

from compliance.records.tables import industrial_user


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Rows of one industrial user, of one city, or (both None) of all cities."""

    city_id: int | None
    industrial_user_id: int | None

    def rows(self) -> ColumnElement[bool]:
        """The condition for a statement that selects from or joins ``industrial_user``."""
        parts: list[ColumnElement[Any]] = [true()]
        if self.industrial_user_id is not None:
            parts.append(industrial_user.c.id == self.industrial_user_id)
        if self.city_id is not None:
            parts.append(industrial_user.c.city_id == self.city_id)
        return and_(*parts)
