"""A form as it was typed, read field by field: what cannot be used gets a sentence beside it."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from app.inputs import EARLIEST, LATEST
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.model.faults import brief

_NUMBER = re.compile(r"\d{1,12}(\.\d{1,12})?", re.ASCII)


@dataclass(kw_only=True)
class Sheet:
    """typed: every field as it was sent; problems: a sentence for each that cannot be used."""

    typed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def day(self, name: str, *, needed: bool = True) -> date | None:
        """A civil day; None where there is none, with a problem where one is needed."""
        text = self._text(name)
        if not text and not needed:
            return None
        try:
            found = date.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or not EARLIEST.year < found.year < LATEST.year:
            self.problems[name] = f"Found {brief(text)!r}, expected a day such as 2026-03-01."
            return None
        return found

    def number(self, name: str, *, needed: bool = True, most: Decimal | None = None) -> Decimal:
        """A number over zero; zero, with a problem where one is needed, where there is none."""
        text = self._text(name).replace(",", "")
        if not text and not needed:
            return Decimal(0)
        found = Decimal(text) if _NUMBER.fullmatch(text) else Decimal(0)
        if not found or (most is not None and found > most):
            limit = f", at most {most}" if most is not None else ""
            self.problems[name] = f"Found {brief(text)!r}, expected a number over zero{limit}."
            return Decimal(0)
        return found

    def words(self, name: str, what: str, *, least: int = 2) -> str:
        """A text of some length. what: what it should say."""
        text = " ".join(self._text(name).split())
        if len(text) < least:
            self.problems[name] = f"Write at least {least} characters: {what}."
        return text

    def reason(self, name: str, what: str) -> str:
        """A reason as decisions need one."""
        return self.words(name, what, least=SHORTEST_REASON)

    def choice(self, name: str, known: Container[str]) -> str:
        """One of the choices there are, or an empty text with a problem."""
        text = self._text(name)
        if text not in known:
            self.problems[name] = "Choose one of the list."
            return ""
        return text

    def _text(self, name: str) -> str:
        return self.typed.get(name, "").strip()
