"""A laboratory file on its way in: what it says, grouped as a person repairs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from app import labfiles
from compliance.errors import InputError, NotFound
from compliance.model.faults import Fault
from compliance.model.samples import SampleType
from compliance.records import places, samplers, samples
from compliance.records.places import User
from compliance.records.scope import Scope
from compliance.sampling import results
from compliance.sampling.sheets import LabReport
from compliance.sampling.takings import civil_day

LARGEST = 4_000_000
TOO_LARGE = (
    f"The file is larger than {LARGEST // 1_000_000} MB ({LARGEST:,} bytes), the most that is "
    "taken at once; split it and send the parts one after the other."
)
SHOWN_ROWS = 12
NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows with the same fault: repaired by the same act."""

    rows: tuple[int, ...]
    fault: Fault

    @property
    def sentence(self) -> str:
        """Which rows, what was found, what was expected."""
        several = f"{len(self.rows)} rows ({_some(self.rows)})"
        place = f"Row {self.rows[0]}" if len(self.rows) == 1 else several
        return f"{place}, {self.fault.column}: {self.fault.found!r}, expected {self.fault.expected}"


def report_of(
    db: Connection, scope: Scope, content: bytes, *, filename: str, received_at: datetime
) -> LabReport:
    """What a file says, read in the plant's zone. Raises: InputError when it is no table."""
    if len(content) > LARGEST:
        raise InputError(
            f"{filename} has {len(content):,} bytes; expected at most {LARGEST:,}: split the file"
        )
    sheet = labfiles.sheet(content, filename=filename)
    zone = ZoneInfo(places.zone(db, scope))
    return results.read(sheet, zone=zone, received_at=received_at)


def grouped(faults: Sequence[Fault]) -> tuple[Group, ...]:
    """Faults by what repairs them, the most rows first."""
    found: dict[tuple[str, str, str, str], list[Fault]] = {}
    for fault in faults:
        key = (fault.column, fault.found, fault.expected, fault.repair)
        found.setdefault(key, []).append(fault)
    groups = [
        Group(rows=tuple(fault.row for fault in same), fault=same[0]) for same in found.values()
    ]
    return tuple(sorted(groups, key=lambda one: (-len(one.rows), one.rows)))


def cautions(db: Connection, owner_id: int, report: LabReport, *, zone: str) -> tuple[str, ...]:
    """Of the sampler's composites that good rows stand on, those that are flagged."""
    points = samples.points(db, owner_id)
    only = next(iter(points)) if len(points) == 1 else ""
    days = set()
    for one in report.accepted:
        point = one.sample.point or only
        dated = one.sample.sampled_from is not None and one.sample.sampled_to is not None
        if one.sample.sample_type is SampleType.COMPOSITE and point in points and dated:
            days.add((points[point], civil_day(one.sample, ZoneInfo(zone))))
    taken = [
        one
        for point_id, day in sorted(days)
        for one in samplers.on(db, point_id, day, ZoneInfo(zone))
    ]
    return tuple(one.caution for one in taken if one.caution)


def whose(db: Connection, scope: Scope, user_id: int | None) -> User:
    """The user that results are sent for: the viewer's own, or the one chosen.

    Raises: NotFound for one that is not the viewer's; InputError when none was chosen.
    """
    users = places.users(db, scope)
    if user_id is None and len(users) == 1:
        return users[0]
    if user_id is None:
        raise InputError("no industrial user was chosen; choose whose results these are")
    for one in users:
        if one.id == user_id:
            return one
    raise NotFound(f"There is no industrial user {user_id} here.")


def shown_name(filename: str | None) -> str:
    """A file's given name, fit to be shown and stored; it is never used as a path."""
    kept = "".join(c for c in filename or "" if c.isprintable())
    return kept.replace("\\", "/").rsplit("/", 1)[-1][-NAME_LENGTH:] or "unnamed"


def _some(rows: Sequence[int]) -> str:
    named = ", ".join(str(row) for row in rows[:SHOWN_ROWS])
    return named + (" …" if len(rows) > SHOWN_ROWS else "")
