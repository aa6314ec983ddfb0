"""A hold as somebody types it: over what, which days, why; and all that it can be laid over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.inputs import EARLIEST, LATEST
from app.wording import names
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.model.periods import midnight
from compliance.records.holds import Over
from compliance.records.places import Signal

CITY = "city"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something a hold can be laid over. key: as the form sends it; group: its heading."""

    key: str
    name: str
    group: str
    over: Over


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A hold that may be placed."""

    over: Over
    since: datetime | None
    until: datetime | None
    reason: str


def choices(city_id: int, signals: Sequence[Signal]) -> tuple[Choice, ...]:
    """All of a city, its users, their points and channels."""
    called = names(signals)
    users = {one.industrial_user_id: one.industrial_user for one in signals}
    points = {one.point_id: f"{one.point}, {one.industrial_user}" for one in signals}
    return (
        Choice(key=CITY, name="Everything in the city", group="", over=Over(city_id=city_id)),
        *(
            Choice(
                key=f"user-{number}",
                name=name,
                group="All of an industrial user",
                over=Over(city_id=city_id, industrial_user_id=number),
            )
            for number, name in users.items()
        ),
        *(
            Choice(
                key=f"point-{number}",
                name=name,
                group="All of a monitoring point",
                over=Over(city_id=city_id, monitoring_point_id=number),
            )
            for number, name in points.items()
        ),
        *(
            Choice(
                key=f"channel-{one.channel_id}",
                name=f"{one.point}, {called[one.channel_id].text}",
                group="One channel",
                over=Over(city_id=city_id, channel_id=one.channel_id),
            )
            for one in signals
        ),
    )


@dataclass(kw_only=True)
class HoldForm:
    """A hold as it was typed; faults: a sentence for each field that cannot be used."""

    over: str = CITY
    since: str = ""
    until: str = ""
    reason: str = ""
    faults: dict[str, str] = field(default_factory=dict)

    def wanted(self, known: Sequence[Choice], zone: str) -> Wanted | None:
        """The hold it describes, in whole days at the plant, or None with the faults."""
        chosen = next((one for one in known if one.key == self.over), None)
        if chosen is None:
            self.faults["over"] = "Choose what is held."
        first, last = self._day("since", self.since), self._day("until", self.until)
        if first and last and last < first:
            self.faults["until"] = "It ends before it begins; write a later day, or none."
        reason = self.reason.strip()
        if len(reason) < SHORTEST_REASON:
            self.faults["reason"] = (
                f"Write at least {SHORTEST_REASON} characters: it is read when the hold is lifted."
            )
        if self.faults or chosen is None:
            return None
        plant = ZoneInfo(zone)
        return Wanted(
            over=chosen.over,
            since=midnight(first, plant) if first else None,
            until=midnight(last + timedelta(days=1), plant) if last else None,
            reason=reason,
        )

    def _day(self, name: str, written: str) -> date | None:
        text = written.strip()
        if not text:
            return None
        try:
            found = date.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or not EARLIEST.year < found.year < LATEST.year:
            self.faults[name] = f"Found {text[:40]!r}, expected a day such as 2026-03-01, or none."
            return None
        return found
