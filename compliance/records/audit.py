"""The audit log: what people changed, in a chain of hashes that shows whether a row was altered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import Connection, func, select

from compliance.records.tables import audit

START = "0" * 64
"""What stands in the first row, where the hash of the one before would be."""
LOCK = 470411
"""The advisory lock of the chain; its number only has to be nobody else's."""
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act of a person, as the log keeps it."""

    id: int
    at: datetime
    by: str
    act: str
    subject: str
    detail: Mapping[str, object]
    previous: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a walk along the chain found: rows that hold, the newest hash, the first bad row.

    first_bad is None where all hold; why then is empty.
    """

    count: int
    head: str
    first_bad: int | None
    why: str


def note(db: Connection, *, by: str, act: str, subject: str, detail: Mapping[str, object]) -> int:
    """Write down what somebody did, in the transaction that does it; returns the entry's number.

    by: who, as people know them; act: a verb, such as ``open violation``; subject: what it was
    done to; detail: plain values, of which dates, decimals and floats are kept as text. The time
    is the database's clock. The chain is locked until the transaction ends, so that no second
    writer can hang on the same row: call it last, after all other writing.
    """
    db.execute(select(func.pg_advisory_xact_lock(LOCK)))
    last = db.execute(select(audit.c.id, audit.c.sha256).order_by(audit.c.id.desc()).limit(1))
    before = last.first()
    number: int = before.id + 1 if before else 1
    row = {
        "id": number,
        "at": db.scalar(select(func.clock_timestamp())),
        "by": _clean(by),
        "act": _clean(act),
        "subject": _clean(subject),
        "detail": _plain(detail),
        "previous": before.sha256 if before else START,
    }
    db.execute(audit.insert().values(**row, sha256=_digest(row)))
    return number


def entries(db: Connection, *, since: datetime | None = None) -> Generator[Entry]:
    """Entries from an instant on (None: from the first), oldest first."""
    query = select(audit).order_by(audit.c.id)
    if since is not None:
        query = query.where(audit.c.at >= since)
    with db.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        for row in rows.mappings():
            yield Entry(**dict(row))


def verify(db: Connection) -> Proof:
    """Walk the chain from its first row and compute every hash anew.

    A row that was changed, taken out or put in between is named. Rows cut off at the end leave
    a whole chain: only a head noted elsewhere shows that.
    """
    count, head = 0, START
    with closing(entries(db)) as walk:
        for entry in walk:
            why = _fault(entry, number=count + 1, previous=head)
            if why:
                return Proof(count=count, head=head, first_bad=entry.id, why=why)
            count, head = count + 1, entry.sha256
    return Proof(count=count, head=head, first_bad=None, why="")


def _fault(entry: Entry, *, number: int, previous: str) -> str:
    row = {name: getattr(entry, name) for name in Entry.__slots__ if name != "sha256"}
    if entry.id != number:
        return f"row {number} should stand here"
    if entry.previous != previous:
        return "it does not hang on the row before"
    if entry.sha256 != _digest(row):
        return "its content is not what was hashed"
    return ""


def _digest(row: Mapping[str, object]) -> str:
    """SHA-256 of the row as JSON: keys in order, no spaces; the instant in UTC, microseconds."""
    at = row["at"]
    if not isinstance(at, datetime):
        raise TypeError(f"an entry's instant is a datetime, not {at!r}")
    text = {**row, "at": at.astimezone(UTC).isoformat(timespec="microseconds")}
    canonical = json.dumps(text, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: object) -> object:
    """A value as the database gives it back unchanged: text, integers, booleans, lists, tables."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {_clean(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        inner = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [_plain(one) for one in inner]
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    return _clean(str(value))


def _clean(text: str) -> str:
    """Text the database can hold: no NUL, no half of a surrogate pair."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()
