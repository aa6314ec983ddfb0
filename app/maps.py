"""A register map as it was published, laid out for people: document, registers, what to verify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NO_ORDER = ("string", "bits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One entry of a map, as text."""

    name: str
    printed: str
    wire: str
    type: str
    words: int
    order: str
    unit: str
    evidence: str
    verify: bool
    note: str
    order_is_open: bool

    @property
    def doubt(self) -> str:
        """Why it is to be compared with the display, in one sentence."""
        reasons = []
        if self.order_is_open:
            reasons.append("its word order is not in the manual")
        if self.evidence != "manual":
            reasons.append(f"its evidence is a {self.evidence} source, not the manual")
        if self.note:
            reasons.append(self.note)
        return f"{self.name}: {'; '.join(reasons or ['the map asks for it'])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A published register map. ``needs_write``: it measures only when told to."""

    title: str
    role: str
    document: str
    needs_write: bool
    quirks: tuple[str, ...]
    registers: tuple[Register, ...]

    @property
    def unverified(self) -> tuple[str, ...]:
        """A sentence for each register to compare with the instrument's display on site."""
        return tuple(one.doubt for one in self.registers if one.verify)

    def words(self, name: str, *, default: int = 2) -> int:
        """How many registers an entry takes."""
        return next((one.words for one in self.registers if one.name == name), default)


def laid_out(content: Mapping[str, Any] | None) -> Map | None:
    """A map from its published content; None where there is none in a form we know."""
    entries = (content or {}).get("entries")
    if content is None or not isinstance(entries, Mapping):
        return None
    return Map(
        title=f"{content.get('vendor', '')} {content.get('model', '')}".strip(),
        role=str(content.get("role", "")),
        document=str(content.get("document", "")),
        needs_write=bool(content.get("needs_write")),
        quirks=tuple(content.get("quirks") or ()),
        registers=tuple(_register(entry) for entry in entries.values()),
    )


def _register(entry: Mapping[str, Any]) -> Register:
    words = int(entry.get("words") or 1)
    ordered = words > 1 and entry.get("type") not in _NO_ORDER
    open_order = ordered and not entry.get("order")
    return Register(
        name=str(entry.get("name", "")),
        printed=str(entry.get("printed", "")),
        wire=f"{entry.get('table', '')} {entry.get('address', '')}",
        type=str(entry.get("type", "")),
        words=words,
        order=str(entry.get("order") or ("open" if open_order else "–")),
        unit=str(entry.get("unit") or entry.get("unit_text") or ""),
        evidence=str(entry.get("evidence", "")),
        verify=bool(entry.get("verify")),
        note=str(entry.get("note") or ""),
        order_is_open=open_order,
    )
