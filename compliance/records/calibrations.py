"""Calibrations of channels, and how often each has to be calibrated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import distinct_on

from compliance.model.calibrations import Standard
from compliance.records import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """One calibration of a channel as it is on record."""

    channel_id: int
    at: datetime
    by: str
    standards: tuple[Standard, ...]
    drift: str


def add(  # noqa: PLR0913 - what a calibration is
    db: Connection,
    channel_id: int,
    *,
    at: datetime,
    by: str,
    standards: Sequence[Standard],
    drift: str,
) -> None:
    """Keep a calibration."""
    db.execute(
        t.calibration.insert().values(
            channel_id=channel_id,
            calibrated_at=at,
            by=by,
            standards=[asdict(one) for one in standards],
            drift=drift,
        )
    )


def of(db: Connection, channels: Collection[int]) -> tuple[Calibrated, ...]:
    """The calibrations of channels, the newest first."""
    c = t.calibration.c
    rows = db.execute(
        select(c.channel_id, c.calibrated_at, c.by, c.standards, c.drift)
        .where(c.channel_id.in_(channels))
        .order_by(c.calibrated_at.desc(), c.id.desc())
    )
    return tuple(
        Calibrated(
            channel_id=channel,
            at=at,
            by=by,
            standards=tuple(Standard(**one) for one in standards),
            drift=drift,
        )
        for channel, at, by, standards, drift in rows
    )


def intervals(db: Connection, channels: Collection[int]) -> dict[int, int]:
    """After how many days each channel is to be calibrated again; without approval: left out."""
    c = t.commissioning.c
    rows = db.execute(
        select(c.channel_id, c.calibration_days)
        .ext(distinct_on(c.channel_id))
        .where(c.channel_id.in_(channels))
        .order_by(c.channel_id, c.approved_on.desc(), c.id.desc())
    )
    return {channel: days for channel, days in rows}
