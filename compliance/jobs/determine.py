"""A person determines readings to be valid, invalid or an estimate, in one audited transaction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine

from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError
from compliance.jobs import foresee as foreseeing
from compliance.jobs.foresee import Foreseen
from compliance.model.determinations import Determination, Verdict, determined
from compliance.model.periods import to_us
from compliance.model.readings import Series
from compliance.records import audit, destructions, determinations, dirt, overlay, readings

LONGEST = timedelta(days=31)
"""One determination covers no more: what is said of more is said month by month."""
AHEAD = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A file that shows why: its name and content."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """Of the content, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person says of the readings of a channel in ``[since, until)``."""

    channel_id: int
    since: datetime
    until: datetime
    verdict: Verdict
    reason: str
    evidence: Paper | None = None


def check(wanted: Wanted, *, now: datetime) -> None:
    """Refuse what no determination can be. Raises: InputError."""
    since, until = wanted.since, wanted.until
    if until <= since:
        raise InputError("It ends before it begins; write a later end.")
    if until > now + AHEAD:
        raise InputError("That has not come yet: only what was read can be determined.")
    if until - since > LONGEST:
        raise InputError(
            f"It covers {(until - since).days} days; expected at most {LONGEST.days}: "
            "say it month by month."
        )
    if len(wanted.reason.strip()) < SHORTEST_REASON:
        raise InputError(f"Write at least {SHORTEST_REASON} characters: it is read at a hearing.")


def foresee(db: Connection, wanted: Wanted, *, now: datetime) -> Foreseen:
    """What a determination would do to readings and findings; nothing is written.

    Raises: InputError, NotFound.
    """
    check(wanted, now=now)
    destructions.refuse_span(db, wanted.channel_id, since=wanted.since, until=wanted.until)
    verdict = Determination(
        since_us=to_us(wanted.since), until_us=to_us(wanted.until), verdict=wanted.verdict
    )

    def lay(series: Series) -> Series:
        return replace(series, quality=determined(series.at_us, series.quality, [verdict]))

    span = {"since": wanted.since, "until": wanted.until}
    seen = foreseeing.foresee(db, wanted.channel_id, **span, lay=lay, now=now)
    said = determinations.of(db, [wanted.channel_id], **span)
    return replace(seen, said=len(said))


def determine(  # noqa: PLR0913 - an act and who does it
    engine: Engine,
    wanted: Wanted,
    *,
    person_id: int,
    by: str,
    now: datetime,
    seal: str | None = None,
) -> int | None:
    """Write a determination down and have its readings judged anew; its number.

    by: name and office, for the audit log. seal: of what was foreseen; None is given back and
    nothing written where that no longer holds, be it by the same button pressed twice. Earlier ones
    stay; for readings that both cover this one holds from now on. Raises: InputError where it says
    nothing, or of nothing.
    """
    check(wanted, now=now)
    since, until, paper = wanted.since, wanted.until, wanted.evidence
    with engine.begin() as db:
        dirt.lock(db, [wanted.channel_id])
        destructions.refuse_span(db, wanted.channel_id, since=since, until=until)
        if seal is not None and foresee(db, wanted, now=now).seal != seal:
            return None
        held = readings.usable(db, [wanted.channel_id], since=since, until=until)
        count = len(held[wanted.channel_id])
        if not count:
            raise InputError(
                "Nothing was read in that time: there is nothing to determine; silence is listed "
                "as a gap."
            )
        number = overlay.determine(
            db,
            wanted.channel_id,
            wanted.verdict,
            since=since,
            until=until,
            reason=wanted.reason.strip(),
            person_id=person_id,
            evidence=(paper.name, paper.sha256, paper.content) if paper else None,
        )
        readings.mark_dirty(db, [wanted.channel_id], since=since, until=until, why="determination")
        _note(db, wanted, number=number, count=count, by=by)
    return number


def _note(db: Connection, wanted: Wanted, *, number: int, count: int, by: str) -> None:
    paper = wanted.evidence
    detail = {
        "channel": wanted.channel_id,
        "since": wanted.since,
        "until": wanted.until,
        "verdict": wanted.verdict.value,
        "reason": wanted.reason.strip(),
        "readings": count,
        "evidence": paper.name if paper else None,
        "evidence_sha256": paper.sha256 if paper else None,
    }
    audit.note(
        db, by=by, act="determine readings", subject=f"determination:{number}", detail=detail
    )
