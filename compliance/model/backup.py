"""What a backup says of itself, and what of it a restored database does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from compliance.errors import InputError

FORMAT = "pretreat-backup-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a database holds. revision: of its schema; counts: rows by table; audit_id, audit_head:
    the number and hash of the newest row of the audit log, 0 and empty without any."""

    revision: str
    counts: Mapping[str, int]
    audit_id: int
    audit_head: str

    def first_difference(self, found: Inventory) -> str | None:
        """What another inventory has otherwise, in a sentence; None where they are the same."""
        if found.revision != self.revision:
            return f"the schema stands at {found.revision or 'nothing'}, saved was {self.revision}"
        for table in sorted(self.counts.keys() | found.counts.keys()):
            saved, there = self.counts.get(table, 0), found.counts.get(table, 0)
            if saved != there:
                return f"table {table} has {there} rows, saved were {saved}"
        mine, theirs = (self.audit_id, self.audit_head), (found.audit_id, found.audit_head)
        if mine != theirs:
            return (
                f"the audit log ends with row {found.audit_id} ({found.audit_head or 'none'}), "
                f"saved was row {self.audit_id} ({self.audit_head or 'none'})"
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a database runs on. major: of PostgreSQL; extension: the version of TimescaleDB."""

    major: int
    edition: str
    extension: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A backup's own account. sha256, size: of the dump in it; program: that made the dump."""

    release: str
    made_at: datetime
    made_by: str
    server: Server
    inventory: Inventory
    program: str
    sha256: str
    size: int

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {"format": FORMAT, **asdict(self), "made_at": self.made_at.isoformat()}

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Raises: InputError for what is no manifest of this format."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            found = content.get("format") if isinstance(content, dict) else None
            raise InputError(f"its manifest has the format {found!r}; expected {FORMAT!r}")
        try:
            return cls(
                release=str(content["release"]),
                made_at=datetime.fromisoformat(content["made_at"]),
                made_by=str(content["made_by"]),
                server=Server(**content["server"]),
                inventory=Inventory(**content["inventory"]),
                program=str(content["program"]),
                sha256=str(content["sha256"]),
                size=int(content["size"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"its manifest cannot be read ({error})") from None
