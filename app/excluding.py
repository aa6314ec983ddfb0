"""Exclusions inside the limit and beyond it, side by side, as a page and the API tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.jobs.exclusions import of_month
from compliance.judging.exclusions import RULE, Cause, Exclusions, Part
from compliance.model.periods import day_of
from compliance.records.places import Signal

SAYS = {
    Cause.DEVICE: "by the instrument or its gateway",
    Cause.WINDOW: "in a declared window",
    Cause.DETERMINATION: "by a determination",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A cause with both sides; the last one is of all causes."""

    says: str
    inside: tuple[int, str]
    beyond: tuple[int, str]


def month_of(written: str, *, zone: str, now: datetime) -> date:
    """The first day of a month written as 2026-11; of the present one where none is.

    Raises: InputError.
    """
    if not written:
        return day_of(now, ZoneInfo(zone)).replace(day=1)
    try:
        found = date.fromisoformat(f"{written}-01") if len(written) == len("2026-11") else None
    except ValueError:
        found = None
    if found is None or not 1971 <= found.year < 2199:
        raise InputError(f"month is {written[:20]!r}; expected one such as 2026-11")
    return found


def rows(found: Exclusions) -> tuple[Row, ...]:
    """Each cause in a line, then all of them."""
    lines = [
        Row(says=SAYS[cause], inside=_side(found.inside, cause), beyond=_side(found.beyond, cause))
        for cause in Cause
    ]
    every = Row(says="all", inside=_side(found.inside, None), beyond=_side(found.beyond, None))
    return (*lines, every)


def _side(part: Part, cause: Cause | None) -> tuple[int, str]:
    count = part.left_out if cause is None else part.excluded.get(cause, 0)
    share = part.share(cause)
    return count, "no reading" if share is None else percent(share)


def percent(share: float) -> str:
    """A share for people: what is neither none nor all is never shown as such."""
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    return "under 0.01 %" if share < 0.0001 else f"{min(99.99, 100 * share):.2f} %"


def as_json(
    db: Connection, signals: Sequence[Signal], month: date, *, now: datetime
) -> dict[str, Any]:
    """Every channel of a point that a limit is judged on; shares as decimal texts."""
    channels = []
    for signal in signals:
        found = of_month(db, signal.channel_id, month, now=now)
        if found is not None:
            channels.append(
                {
                    "channel": signal.channel_id,
                    "parameter": signal.parameter,
                    "entry": signal.entry,
                    "inside": _part(found.inside),
                    "beyond": _part(found.beyond),
                    "without_value": found.without_value,
                }
            )
    return {
        "point": signals[0].point if signals else None,
        "month": f"{month:%Y-%m}",
        "rule": RULE,
        "channels": channels,
    }


def _part(part: Part) -> dict[str, Any]:
    def share(cause: Cause | None) -> str | None:
        known = part.share(cause)
        return None if known is None else f"{known:.6f}"

    return {
        "readings": part.readings,
        "excluded": part.left_out,
        "share": share(None),
        "by": {
            cause.value: {"readings": part.excluded.get(cause, 0), "share": share(cause)}
            for cause in Cause
        },
    }
