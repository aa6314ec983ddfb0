"""What was laid over a channel's readings, as a chart, its tables and the API tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from app.templating import duration, number, parameter_shown, unit_shown
from compliance.jobs.foresee import Becomes, Foreseen, Touched
from compliance.model.corrections import Corrected
from compliance.model.determinations import OnRecord
from compliance.model.flags import Flag, Listed, gathered
from compliance.model.periods import from_us, to_us
from compliance.records import corrections, determinations, flags
from compliance.records.described import Described
from compliance.records.places import Signal

NEAR = 3
"""Flagged spans so many intervals from each other are told as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """A flagged span in words. fails: no instrument in order can give such a value."""

    since: datetime
    until: datetime
    fails: bool
    says: str
    readings: int
    ruleset: str

    @property
    def shown(self) -> str:
        """How bad, by shape and word."""
        return "■ Fails" if self.fails else "▲ Doubtful"


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """What was laid over the readings of a channel in a span."""

    flagged: tuple[Flagged, ...]
    determined: tuple[OnRecord, ...]
    corrected: tuple[Corrected, ...]


def laid(db: Connection, signal: Signal, *, since: datetime, until: datetime) -> Laid:
    """All of it, flagged spans oldest first, determinations newest first."""
    channel = signal.channel_id
    return Laid(
        flagged=flagged(db, signal, since=since, until=until),
        determined=determinations.of(db, [channel], since=since, until=until),
        corrected=corrections.of(db, [channel], since=since, until=until),
    )


def flagged(
    db: Connection, signal: Signal, *, since: datetime, until: datetime
) -> tuple[Flagged, ...]:
    """The spans of a channel that screening flagged, neighbours joined, oldest first."""
    found = flags.listed(db, signal.channel_id, since=since, until=until)
    joined = gathered(found, within_us=NEAR * 1000 * signal.interval_ms)
    return tuple(_flagged(one) for one in joined)


def _flagged(one: Listed) -> Flagged:
    return Flagged(
        since=from_us(one.span.since_us),
        until=from_us(one.span.until_us),
        fails=one.span.flag is Flag.FAIL,
        says=one.says,
        readings=one.span.readings,
        ruleset=one.ruleset,
    )


def as_columns(of: Laid, signal: Signal) -> dict[str, Any]:
    """The same for a chart; times in milliseconds since 1970."""
    step = timedelta(milliseconds=signal.interval_ms)
    return {
        "flags": [
            {
                "from": _ms(one.since),
                "to": _ms(one.until + step),
                "fails": one.fails,
                "says": one.says,
                "readings": one.readings,
                "ruleset": one.ruleset,
            }
            for one in of.flagged
        ],
        "determinations": [
            {
                "number": one.number,
                "from": _ms(one.since),
                "to": _ms(one.until),
                "verdict": one.verdict.value,
                "excludes": one.excludes,
                "says": f"{one.says} by {one.by}: {one.reason}",
            }
            for one in of.determined
        ],
        "corrected": [
            {
                "at": _ms(one.read_at),
                "value": one.value,
                "first": one.first,
                "says": f"first read {shown(one.first, signal)}, corrected by {one.by}: "
                f"{one.reason}",
            }
            for one in of.corrected
        ],
    }


def _ms(at: datetime) -> int:
    return to_us(at) // 1000


def shown(value: float | None, signal: Signal) -> str:
    """A value with its unit; words where there is none."""
    if value is None:
        return "no value"
    return f"{number(value, signal.resolution)} {unit_shown(signal.unit)}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What becomes of a finding, in words. now, then: None where there is none."""

    mark: str
    now: str | None
    then: str | None
    starts_at: datetime
    detection: int | None
    decided: bool


MARKS = {
    Becomes.WITHDRAWN: "■ No longer found",
    Becomes.CHANGED: "▲ Changes",
    Becomes.FOUND: "▲ Newly found",
    Becomes.LOOKED_AT_AGAIN: "◇ Looked at again",
}


def effects(of: Foreseen) -> tuple[Effect, ...]:
    """What becomes of findings, those that would go first."""
    order = list(Becomes)
    return tuple(_effect(one) for one in sorted(of.touched, key=lambda o: order.index(o.becomes)))


def _effect(one: Touched) -> Effect:
    either = one.was or one.will_be
    assert either is not None
    state = one.was.state if one.was else None
    return Effect(
        mark=MARKS[one.becomes],
        now=None if one.was is None else line(one.was),
        then=None if one.will_be is None else line(one.will_be),
        starts_at=either.starts_at,
        detection=one.was.detection if one.was else None,
        decided=state not in (None, "detected", "waiting"),
    )


def line(one: Described) -> str:
    """A finding in one line."""
    unit = unit_shown(one.unit)
    limit, worst = f"{one.limit} {unit}".strip(), f"{one.worst} {unit}".strip()
    length = duration((one.ends_at - one.starts_at).total_seconds())
    return f"{parameter_shown(one.parameter)} {one.side} {limit} for {length}, worst {worst}"


def told(of: Foreseen) -> dict[str, Any]:
    """What would change, for a program."""
    return {
        "readings": of.readings,
        "judged_before": of.judged_before,
        "judged_after": of.judged_after,
        "findings": [
            {
                "becomes": one.becomes.value,
                "was": _finding(one.was),
                "will_be": _finding(one.will_be),
            }
            for one in of.touched
        ],
        "removes_exceedance": bool(of.removed),
    }


def _finding(one: Described | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "exceedance": one.id,
        "detection": one.detection,
        "rule": one.rule_id,
        "side": one.side,
        "starts_at": one.starts_at.isoformat(),
        "ends_at": one.ends_at.isoformat(),
        "worst": one.worst,
        "limit": one.limit,
        "unit": one.unit,
    }


def on_record(found: Sequence[OnRecord]) -> list[dict[str, Any]]:
    """Determinations for a program, the newest first."""
    return [
        {
            "determination": one.number,
            "channel": one.channel_id,
            "from": one.since.isoformat(),
            "to": one.until.isoformat(),
            "verdict": one.verdict.value,
            "reason": one.reason,
            "by": one.by,
            "at": one.at.isoformat(),
            "evidence": None
            if one.evidence_sha256 is None
            else {
                "name": one.evidence_name,
                "sha256": one.evidence_sha256,
                "href": f"/determinations/{one.number}/evidence",
            },
        }
        for one in found
    ]
