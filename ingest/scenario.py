"""Scenarios: which manholes there are, what their instruments carry, and what happens on cue."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from compliance.errors import RuleError
from compliance.model.fields import Fields
from compliance.model.parameters import Parameter
from compliance.model.periods import add_months, day_of, quarter, to_us
from compliance.model.register_map import Order, RegisterMap
from compliance.model.units import Unit
from ingest import library
from ingest.manhole import Event, EventKind, Profile, Signal

PACKAGED = Path(str(files("ingest"))) / "scenarios"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalChannel:
    """An entry of a map that carries a signal, and the channel that reads it."""

    entry: str
    signal: Signal
    parameter: Parameter
    unit: Unit
    resolution: Decimal
    interval_s: Decimal
    span: tuple[Decimal, Decimal] | None
    modulus: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedUnit:
    """An instrument behind a gateway.

    constants: entries that hold one number all the time; copies: entries that show another's value.
    """

    unit: int
    map: RegisterMap
    order: Order
    constants: Mapping[str, Decimal]
    copies: Mapping[str, str]
    channels: tuple[SignalChannel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manhole:
    """A control manhole of one industrial user; events: empty until a start is known."""

    point: str
    city: str
    user: str
    gateway: str
    host: str
    port: int
    profile: Profile
    units: tuple[SimulatedUnit, ...]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """An event whose instant depends on the start."""

    point: str
    event: Event  # from 0, as long as it lasts
    after: timedelta | None
    days_before: int | None
    quarter_day: int | None
    at: time | None

    def happens(self, started_at: datetime, zone: ZoneInfo) -> Event:
        """The event at its instants, for a run that started at ``started_at``."""
        shift = to_us(self._starts(started_at, zone))
        return replace(
            self.event, starts_us=shift, ends_us=shift + self.event.ends_us - self.event.starts_us
        )

    def _starts(self, started_at: datetime, zone: ZoneInfo) -> datetime:
        if self.after is not None:
            return started_at + self.after
        today = day_of(started_at, zone)
        if self.quarter_day is not None:
            first = add_months(quarter(today).start, -3)
            day = first + timedelta(days=self.quarter_day - 1)
        else:
            day = today - timedelta(days=self.days_before or 0)
        return datetime.combine(day, self.at or time(12), zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Manholes and cues; ``started`` gives the manholes of one run."""

    name: str
    zone: ZoneInfo
    manholes: tuple[Manhole, ...]
    cues: tuple[Cue, ...] = field(default=())

    def started(self, started_at: datetime) -> tuple[Manhole, ...]:
        """The manholes with the events of a run that starts at an aware instant."""
        return tuple(
            replace(
                manhole,
                events=tuple(
                    cue.happens(started_at, self.zone)
                    for cue in self.cues
                    if cue.point == manhole.point
                ),
            )
            for manhole in self.manholes
        )

    def moved(self, port_base: int | None) -> Scenario:
        """The same with its gateways on consecutive ports from ``port_base``."""
        if port_base is None:
            return self
        moved = (replace(m, port=port_base + index) for index, m in enumerate(self.manholes))
        return replace(self, manholes=tuple(moved))


def find(name: str) -> Path:
    """The file of a packaged scenario by its name, or of any other by its path."""
    packaged = PACKAGED / f"{name}.yaml"
    return packaged if packaged.exists() else Path(name)


def load(path: Path, home: Path | None = None) -> Scenario:
    """The scenario in a file.

    home: whose register maps it may name, beside the package's.
    Raises: RuleError in one sentence for the first thing that cannot be meant.
    """
    top = Fields(place=path.name, content=library.read_yaml(path))
    top.expect_only(("scenario", "seed", "zone", "manholes", "live_events", "history_events"))
    try:
        zone = ZoneInfo(top.text("zone"))
    except (ZoneInfoNotFoundError, ValueError):
        raise top.fault("zone", "a time zone such as America/Chicago") from None
    seed = top.whole("seed", low=0, high=2**31)
    manholes = tuple(
        _manhole(item, seed=seed, zone=zone, home=home) for item in children(top, "manholes")
    )
    known = {manhole.point: manhole for manhole in manholes}
    cues = [
        _cue(item, known)
        for key in ("live_events", "history_events")
        for item in children(top, key)
    ]
    turning = [cue.point for cue in cues if cue.event.kind is EventKind.ROLLOVER]
    if len(turning) != len(set(turning)):
        raise RuleError(f"{path.name}: a manhole has two rollovers; its total can have one cue")
    return Scenario(name=top.text("scenario"), zone=zone, manholes=manholes, cues=tuple(cues))


def children(of: Fields, key: str) -> list[Fields]:
    """A list of mappings as fields, empty where absent."""
    items = of.content.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise of.fault(key, "a list of mappings")
    return [
        Fields(place=f"{of.place}, {key} {index}", content=item)
        for index, item in enumerate(items, start=1)
    ]


def _child(of: Fields, key: str) -> Fields:
    content = of.content.get(key) or {}
    if not isinstance(content, Mapping):
        raise of.fault(key, "a mapping")
    return Fields(place=f"{of.place}, {key}", content=content)


def _number(of: Fields, key: str, default: Decimal | None = None) -> Decimal:
    number = of.decimal(key, default)
    if number is None:
        raise of.fault(key, 'a number such as 10 or "0.25"')
    return number


def _manhole(of: Fields, *, seed: int, zone: ZoneInfo, home: Path | None) -> Manhole:
    of.expect_only(
        ("point", "city", "user", "gateway", "day", "ph", "temperature", "sampler", "units")
    )
    point = of.text("point")
    gateway = _child(of, "gateway")
    return Manhole(
        point=point,
        city=of.text("city"),
        user=of.text("user"),
        gateway=gateway.text("name"),
        host=gateway.text("host"),
        port=gateway.whole("port", low=1, high=65535),
        profile=_profile(of, seed=seed + zlib.crc32(point.encode()), zone=zone),
        units=tuple(_unit(item, home) for item in children(of, "units")),
    )


def _profile(of: Fields, *, seed: int, zone: ZoneInfo) -> Profile:
    day, ph, heat = _child(of, "day"), _child(of, "ph"), _child(of, "temperature")
    sampler = _child(of, "sampler")
    shift = day.content.get("shift")
    if not (isinstance(shift, list) and len(shift) == 2 and 0 <= shift[0] < shift[1] <= 24):
        raise day.fault("shift", "two local hours such as [6, 18]")
    return Profile(
        seed=seed,
        zone=zone,
        gallons_per_day=float(_number(day, "gallons")),
        working_days=day.whole("working_days", low=1, high=7),
        shift=(shift[0], shift[1]),
        night_share=float(_number(day, "night_share")),
        rest_share=float(_number(day, "rest_share")),
        ph_mean=float(_number(ph, "mean")),
        ph_swing=float(_number(ph, "swing")),
        temperature_mean=float(_number(heat, "mean")),
        temperature_swing=float(_number(heat, "swing")),
        gallons_per_sample=float(_number(sampler, "gallons_per_sample", Decimal(1000))),
        samples_per_bottle=int(_number(sampler, "samples_per_bottle", Decimal(4))),
    )


def _unit(of: Fields, home: Path | None) -> SimulatedUnit:
    of.expect_only(("unit", "map", "order", "constants", "copies", "channels"))
    found = library.load(of.text("map"), home)
    constants, copies = _child(of, "constants"), _child(of, "copies")
    unit = SimulatedUnit(
        unit=of.whole("unit", low=0, high=255),
        map=found,
        order=of.choice("order", Order) or Order.ABCD,
        constants={key: _number(constants, key) for key in constants.content},
        copies={key: copies.text(key) for key in copies.content},
        channels=tuple(_channel(item) for item in children(of, "channels")),
    )
    for name in (
        *unit.constants,
        *unit.copies,
        *unit.copies.values(),
        *(channel.entry for channel in unit.channels),
    ):
        if name not in found.entries:
            raise RuleError(f"{of.place}: the map {found.name} has no entry {name!r}")
    return unit


def _channel(of: Fields) -> SignalChannel:
    keys = ("entry", "signal", "parameter", "unit", "resolution", "interval_s", "span", "modulus")
    of.expect_only(keys)
    span = of.content.get("span")
    if span is not None and not (isinstance(span, list) and len(span) == 2):
        raise of.fault("span", "two numbers such as [0, 200]")
    return SignalChannel(
        entry=of.text("entry"),
        signal=of.required("signal", Signal),
        parameter=of.required("parameter", Parameter),
        unit=of.required("unit", Unit),
        resolution=_number(of, "resolution"),
        interval_s=_number(of, "interval_s"),
        span=None if span is None else (Decimal(span[0]), Decimal(span[1])),
        modulus=of.decimal("modulus"),
    )


def _cue(of: Fields, known: Mapping[str, Manhole]) -> Cue:
    of.expect_only(
        ("point", "kind", "after", "days_before", "quarter_day", "at", "seconds")
        + ("value", "unit", "entry")
    )
    kind = of.required("kind", EventKind)
    if of.text("point") not in known:
        raise of.fault("point", f"a manhole of this scenario: {', '.join(known)}")
    seconds = of.decimal("seconds", Decimal(0)) or Decimal(0)
    event = Event(
        kind=kind,
        starts_us=0,
        ends_us=int(seconds * 1_000_000),
        value=float(of.decimal("value") or 0),
        unit=of.whole("unit", low=0, high=255) if "unit" in of.content else None,
        entry=of.text("entry", "") or None,
    )
    after = of.decimal("after")
    return Cue(
        point=of.text("point"),
        event=event,
        after=None if after is None else timedelta(seconds=float(after)),
        days_before=_optional_day(of, "days_before", low=0),
        quarter_day=_optional_day(of, "quarter_day", low=1),
        at=_clock_time(of),
    )


def _optional_day(of: Fields, key: str, *, low: int) -> int | None:
    return of.whole(key, low=low, high=400) if key in of.content else None


def _clock_time(of: Fields) -> time | None:
    if "after" in of.content:
        return None
    if ("days_before" in of.content) == ("quarter_day" in of.content):
        raise of.fault("after", "seconds, or one of days_before and quarter_day with a local time")
    try:
        return time.fromisoformat(of.text("at"))
    except ValueError:
        raise of.fault("at", 'a local time in quotes such as "10:20"') from None
