"""What is laid over stored readings: corrections, flags of screening, determinations by people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from sqlalchemy import ARRAY, Connection, Integer, any_, cast, func, insert, select

from compliance.errors import InputError
from compliance.model.determinations import Determination, Verdict, determined
from compliance.model.flags import FlaggedSpan
from compliance.model.periods import to_us
from compliance.model.readings import Quality, Series
from compliance.records import destructions, flags
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A reading as it is now known to have been; value: None where there was none."""

    read_at: datetime
    value: float | None
    quality: Quality


def corrected(
    db: Connection, series: Mapping[int, Series], *, since: datetime, until: datetime
) -> dict[int, Series]:
    """Readings as they are now known to have been: before anything else is laid over them."""
    found = dict(series)
    for channel, own in _corrections(db, list(series), since, until).items():
        found[channel] = _corrected(series[channel], own)
    return found


def laid_over(
    db: Connection, series: Mapping[int, Series], *, since: datetime, until: datetime
) -> dict[int, Series]:
    """Readings with what was said of them since: flags of screening, verdicts of people."""
    channels = list(series)
    flagged = flags.between(db, channels, since=since, until=until)
    verdicts = _verdicts(db, channels, since, until)
    found = dict(series)
    for channel in {*flagged, *verdicts}:
        own = series[channel]
        quality = own.quality | _screened(own, flagged.get(channel, ()))
        quality = determined(own.at_us, quality, verdicts.get(channel, ()))
        found[channel] = replace(own, quality=quality)
    return found


def _corrected(series: Series, corrections: Sequence[tuple[int, float | None, int]]) -> Series:
    if not corrections:
        return series
    value, quality = series.value.copy(), series.quality.copy()
    for at_us, new, said in corrections:
        place = int(np.searchsorted(series.at_us, at_us))
        if place < len(value) and series.at_us[place] == at_us:
            value[place] = np.nan if new is None else new
            quality[place] = said | int(Quality.CORRECTED)
    return replace(series, value=value, quality=quality)


def _screened(series: Series, spans: Sequence[FlaggedSpan]) -> np.ndarray:
    doubt = np.zeros(len(series), np.int64)
    for span in spans:
        lo = int(np.searchsorted(series.at_us, span.since_us))
        hi = int(np.searchsorted(series.at_us, span.until_us, side="right"))
        doubt[lo:hi] = int(Quality.SCREENED)
    return doubt


def _corrections(
    db: Connection, channels: Sequence[int], since: datetime, until: datetime
) -> dict[int, list[tuple[int, float | None, int]]]:
    """The newest version of each corrected reading."""
    c = t.correction.c
    rows = db.execute(
        select(c.channel_id, c.read_at, c.value, c.quality)
        .where(
            c.channel_id == any_(cast(list(channels), ARRAY(Integer))),
            c.read_at >= since,
            c.read_at < until,
        )
        .order_by(c.channel_id, c.read_at, c.version)
    )
    found: dict[int, dict[int, tuple[int, float | None, int]]] = {}
    for row in rows:
        at_us = to_us(row.read_at)
        found.setdefault(row.channel_id, {})[at_us] = (at_us, row.value, row.quality)
    return {channel: list(own.values()) for channel, own in found.items()}


def _verdicts(
    db: Connection, channels: Sequence[int], since: datetime, until: datetime
) -> dict[int, list[Determination]]:
    """Oldest first, so that the newest word stands."""
    d = t.determination.c
    rows = db.execute(
        select(d.channel_id, d.since, d.until, d.verdict)
        .where(
            d.channel_id == any_(cast(list(channels), ARRAY(Integer))),
            d.since < until,
            d.until > since,
        )
        .order_by(d.id)
    )
    found: dict[int, list[Determination]] = {}
    for row in rows:
        found.setdefault(row.channel_id, []).append(
            Determination(
                since_us=to_us(row.since), until_us=to_us(row.until), verdict=Verdict(row.verdict)
            )
        )
    return found


def correct(
    db: Connection, channel: int, corrections: Sequence[Correction], *, reason: str, by: str
) -> int:
    """Keep newer versions of readings; the readings themselves stay as they came. How many versions
    of them there were before.

    The caller marks them dirty (``readings.mark_dirty``) in the same transaction.
    Raises: InputError for an instant at which the channel has no reading, or in a month whose
    readings were destroyed.
    """
    at = [one.read_at for one in corrections]
    destructions.refuse_closed(db, channel, at)
    r, c = t.reading.c, t.correction.c
    stored = select(r.read_at).where(
        r.channel_id == channel, r.read_at >= min(at), r.read_at <= max(at), r.read_at.in_(at)
    )
    known = {row.read_at for row in db.execute(stored)}
    for each in at:
        if each not in known:
            raise InputError(
                f"channel {channel} has no reading at {each.isoformat()}; only a reading that is "
                "stored can be corrected"
            )
    newest = select(c.read_at, func.max(c.version).label("version")).where(
        c.channel_id == channel, c.read_at.in_(at)
    )
    versions = {row.read_at: row.version for row in db.execute(newest.group_by(c.read_at))}
    now = db.scalar(select(func.clock_timestamp()))
    db.execute(
        insert(t.correction),
        [
            {
                "channel_id": channel,
                "read_at": one.read_at,
                "version": versions.get(one.read_at, 0) + 1,
                "value": one.value,
                "quality": int(one.quality),
                "reason": reason,
                "by": by,
                "at": now,
            }
            for one in corrections
        ],
    )
    return sum(versions.values())


def determine(  # noqa: PLR0913 - one argument a column
    db: Connection,
    channel: int,
    verdict: Verdict,
    *,
    since: datetime,
    until: datetime,
    reason: str,
    person_id: int,
    evidence: tuple[str, str, bytes] | None = None,
) -> int:
    """Keep what a person decided of readings in ``[since, until)``; its number.

    Nothing is overwritten. evidence: a file's name, SHA-256 and content. The caller marks the
    readings dirty, and has seen to it that no closed month is in that time.
    """
    name, digest, content = evidence or (None, None, None)
    return int(
        db.scalar(
            insert(t.determination)
            .values(
                channel_id=channel,
                since=since,
                until=until,
                verdict=verdict.value,
                reason=reason,
                person_id=person_id,
                evidence_name=name,
                evidence_sha256=digest,
                evidence=content,
                at=func.clock_timestamp(),
            )
            .returning(t.determination.c.id)
        )
        or 0
    )
