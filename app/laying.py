"""What the pages of commissioning lay out: maps to choose, channels, live values, what counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.jobs import comparing
from compliance.model.commissioning import short
from compliance.model.parameters import UNIT_KIND, Parameter
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType
from compliance.model.sites import Channel
from compliance.model.units import Unit, dimension
from compliance.records import comparisons, counting, library, questions
from compliance.records.library import Published
from compliance.records.questions import Asks, Question
from compliance.records.setting_up import SetUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What the form proposes for an entry, as text; no parameter and unit where nothing tells."""

    parameter: str
    unit: str
    step: str


FINEST = "0.01"
"""The step that is proposed where the map has none."""
_NO_CHANNEL = ("config", "identity", "command", "time", "unit_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A channel as it is set up: its entry, what was last read, since when it counts.

    entry: None where the map has it no more; record: its newest span, None where it never counted.
    """

    channel: Channel
    entry: Entry | None
    read: dict[str, Any]
    record: counting.Record | None

    @property
    def counts(self) -> bool:
        """Whether its readings count now."""
        return self.record is not None and self.record.until is None

    @property
    def said(self) -> tuple[dict[str, Any], ...]:
        """The values that were last read, one for each order they may be in."""
        return tuple(self.read.get("values", ()))

    @property
    def display_unit(self) -> str:
        """In what the display is typed: as the entry gives it, a share in the channel's unit."""
        if self.entry is None or self.entry.share or self.entry.unit is None:
            return self.channel.unit.value
        return self.entry.unit.value


def choices(db: Connection) -> tuple[Published, ...]:
    """The maps that can read an instrument, by name."""
    known = library.published(db)
    return tuple(known[name] for name in sorted(known) if not known[name].map.base_open)


def ask(db: Connection, of: SetUp, *, person_id: int) -> int:
    """Ask a worker to read an instrument by its map, all orders where that leaves one open."""
    unit = of.instrument.unit_id
    return questions.ask(
        db,
        person_id=person_id,
        asks=Asks.READ,
        gateway=of.gateway,
        units=(unit, unit),
        map_name=of.instrument.map_name,
    )


def commissioning(db: Connection, of: SetUp) -> dict[str, Any]:
    """Everything on an instrument's page."""
    known = library.published(db)
    found = known.get(of.instrument.map_name)
    asked = _asked(db, of)
    compared = comparisons.newest(db, of.instrument.id)
    return {
        "of": of,
        "found": found,
        "maps": choices(db),
        "orders": tuple(Order),
        "rows": _rows(db, of, None if found is None else found.map, asked),
        "entries": () if found is None else _numbers(found.map),
        "question": asked,
        "compared": compared,
        "refusal": comparing.stands(db, of, compared) if found else "its map is not published",
        "parameters": tuple(Parameter),
        "units": tuple(Unit),
        "proposed": {} if found is None else _proposed(found.map, of),
        "zone": of.zone,
    }


def _asked(db: Connection, of: SetUp) -> Question | None:
    i = of.instrument
    return questions.newest(
        db, gateway=of.gateway, asks=Asks.READ, unit=i.unit_id, map_name=i.map_name
    )


def _numbers(of: RegisterMap) -> tuple[Entry, ...]:
    """The entries that a channel may be read from."""
    return tuple(
        entry
        for entry in of.entries.values()
        if entry.type is not RegisterType.STRING and entry.kind not in _NO_CHANNEL
    )


def _proposed(by: RegisterMap, of: SetUp) -> dict[str, Proposed]:
    """As each entry is read already, else what its name and unit say it is."""
    read = {channel.entry: channel for channel in of.channels}
    found = {}
    for entry in _numbers(by):
        channel = read.get(entry.name)
        parameter, unit = _meant(entry)
        step = FINEST if entry.resolution is None else f"{entry.resolution:f}"
        found[entry.name] = Proposed(
            parameter=channel.parameter.value if channel else parameter,
            unit=channel.unit.value if channel else unit,
            step=channel.resolution if channel else step,
        )
    return found


def _meant(entry: Entry) -> tuple[str, str]:
    """The parameter and unit that an entry has by its name, else by its unit; "" where neither."""
    unit = "" if entry.unit is None else entry.unit.value
    kind = "" if entry.unit is None else dimension(entry.unit)
    fits = [one for one in Parameter if UNIT_KIND.get(one, "concentration") == kind]
    words = f"_{entry.name}_"
    named = [one for one in fits or Parameter if f"_{one.value}_" in words]
    by_unit = [one for one in fits if one in UNIT_KIND]  # a concentration may be of anything
    best = next(iter([*named, *by_unit]), None)
    return "" if best is None else best.value, unit


def _rows(
    db: Connection, of: SetUp, by: RegisterMap | None, asked: Question | None
) -> tuple[Row, ...]:
    spans = counting.records(db, [channel.id for channel in of.channels])
    read = {one["name"]: one for one in ((asked and asked.answer) or {}).get("entries", ())}
    return tuple(
        Row(
            channel=channel,
            entry=None if by is None else by.entries.get(channel.entry),
            read=shown(by, channel, read.get(channel.entry, {})),
            record=(spans.get(channel.id) or (None,))[-1],
        )
        for channel in of.channels
    )


def shown(by: RegisterMap | None, channel: Channel, answer: dict[str, Any]) -> dict[str, Any]:
    """An answer's entry as a channel shows it: a share in the channel's span."""
    entry = None if by is None else by.entries.get(channel.entry)
    if entry is None or not answer:
        return {}
    try:
        said = comparing.candidates(entry, channel, answer["values"])
    except (InputError, KeyError, ArithmeticError):
        return {}
    values = [
        {**one, "value": None if c.value is None else short(c.value)}
        for one, c in zip(answer["values"], said, strict=True)
    ]
    return {**answer, "values": values}


def live(of: SetUp, by: RegisterMap | None, asked: Question, *, now: datetime) -> dict[str, Any]:
    """A question's state for a page that waits for it."""
    read = {one["name"]: one for one in (asked.answer or {}).get("entries", ())}
    channels = {
        str(channel.id): shown(by, channel, read.get(channel.entry, {})) for channel in of.channels
    }
    return {"channels": channels, "at": now.isoformat()}
