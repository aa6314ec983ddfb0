"""Setting up an instrument step by step: saved at once, counting only once it is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection

from compliance.errors import InputError
from compliance.model import parameters, steps, units
from compliance.model.commissioning import differences
from compliance.model.endpoints import endpoint
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType
from compliance.model.sites import Channel, Gateway
from compliance.records import audit, counting, library, setting_up
from compliance.records.scope import Scope
from compliance.records.setting_up import SetUp

LONGEST_NAME = 200
FIRST_DAY = date(1970, 1, 1)
LEAST_SECONDS, MOST_SECONDS = Decimal("0.1"), Decimal(86_400)
_FIT = frozenset(RegisterType) - {RegisterType.STRING}


class BadField(InputError):
    """What a person typed cannot be meant; field: where it stands on the form."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Who does it, whose rows he may see, and when."""

    by: str
    scope: Scope
    at: datetime


Typed = Mapping[str, str]
"""What was typed into a form, by field."""


def add_gateway(
    db: Connection, act: Act, typed: Typed, *, allowed: Callable[[Gateway], None]
) -> int:
    """Write down a gateway: name, host, port, transport with its options. Its id.

    allowed: raises InputError for a place that this person may not have polled.
    Raises: BadField.
    """
    port = whole(typed, "port", low=0, high=65535)
    gateway = Gateway(
        id=0,
        name=_text(typed, "name"),
        host=_text(typed, "host"),
        port=port,
        transport=typed.get("transport") or "tcp",
    )
    try:
        endpoint(gateway.host, gateway.port, gateway.transport)
        allowed(gateway)
    except InputError as error:
        raise BadField("host", str(error)) from None
    try:
        made = setting_up.add_gateway(db, gateway)
    except InputError as error:
        raise BadField("name", str(error)) from None
    where = {"host": gateway.host, "port": port, "transport": gateway.transport}
    audit.note(db, by=act.by, act="add a gateway", subject=gateway.name, detail=where)
    return made


def add_instrument(db: Connection, act: Act, gateway: Gateway, typed: Typed) -> int:
    """Write down an instrument: unit id, monitoring point, register map. Its id.

    Raises: BadField.
    """
    unit = whole(typed, "unit", low=0, high=255)
    points = setting_up.points(db, act.scope)
    code = typed.get("point", "")
    if code not in points:
        raise BadField("point", f"point is {code!r}; choose one of {', '.join(points) or 'none'}")
    of = _map(db, typed.get("map", ""))
    try:
        made = setting_up.add_instrument(
            db, gateway_id=gateway.id, point_id=points[code], unit_id=unit, map_name=of.name
        )
    except InputError as error:
        raise BadField("unit", str(error)) from None
    detail = {"gateway": gateway.name, "unit": unit, "map": of.name, "point": code}
    audit.note(db, by=act.by, act="add an instrument", subject=f"instrument {made}", detail=detail)
    return made


def change_map(db: Connection, act: Act, of: SetUp, typed: Typed) -> tuple[int, ...]:
    """Read an instrument by another map, or in another order; the channels that count no more.

    Raises: BadField.
    """
    found = _map(db, typed.get("map", ""))
    order = typed.get("order", "") or None
    if order is not None and order not in set(Order):
        raise BadField("order", f"order is {order!r}; choose one of {', '.join(Order)}")
    i = of.instrument
    if (found.name, order) == (i.map_name, i.order):
        return ()
    missing = [c.entry for c in of.channels if c.entry not in found.entries]
    if missing:
        raise BadField(
            "map", f"{found.name} has no entry {missing[0]}; stop reading that channel first"
        )
    setting_up.set_map(db, i.id, map_name=found.name, order=order)
    before = f"by {i.map_name} in {i.order or 'no'} order"
    why = f"read by {found.name} in {order or 'no'} order, before {before}"
    return _ends(db, act, of, [c.id for c in of.channels], why=why)


def put_channel(db: Connection, act: Act, of: SetUp, typed: Typed) -> tuple[int, ...]:
    """Read an entry as a channel, or change how it is told; the channels that count no more.

    Raises: BadField.
    """
    found = library.one(db, of.instrument.map_name).map
    name = typed.get("entry", "")
    if name not in found.entries or found.entries[name].type not in _FIT:
        raise BadField("entry", f"entry is {name!r}; choose a number of {found.name}")
    entry = found.entries[name]
    values = _channel(entry, typed)
    seconds = _decimal(typed, "interval_s")
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise BadField("interval_s", f"interval is {seconds} s; expected 0.1 to 86400 s")
    before = next((c for c in of.channels if c.entry == name), None)
    every_ms = int(1000 * seconds)
    channel = setting_up.put_channel(db, of, values, interval_ms=every_ms, at=act.at)
    changed = () if before is None else differences(_way(before), _told(values))
    if changed:
        return _ends(db, act, of, [channel], why=f"{name} is told otherwise: {'; '.join(changed)}")
    if before is not None and before.interval_ms == every_ms:
        return ()
    said = {key: str(value) for key, value in values.items() if value is not None}
    detail = said | {"interval_s": str(seconds)}
    audit.note(
        db, by=act.by, act="read a channel", subject=f"instrument {of.instrument.id}", detail=detail
    )
    return ()


def stop_reading(db: Connection, act: Act, of: SetUp, typed: Typed) -> None:
    """Read a channel no more; its readings stay. Raises: BadField."""
    channel_id = whole(typed, "channel", low=1, high=2**31 - 1)
    found = next((c for c in of.channels if c.id == channel_id), None)
    if found is None:
        raise BadField("channel", f"channel {channel_id} is none of this instrument")
    setting_up.stop_reading(db, channel_id)
    counting.end(db, [channel_id], by=act.by, why="read no more")
    subject = f"instrument {of.instrument.id}"
    audit.note(db, by=act.by, act="stop a channel", subject=subject, detail={"entry": found.entry})


def _ends(
    db: Connection, act: Act, of: SetUp, channels: Collection[int], *, why: str
) -> tuple[int, ...]:
    """Have a change un-confirm an instrument from now on, and write both down."""
    ended = counting.end(db, channels, by=act.by, why=why)
    if ended or of.instrument.confirmed_by:
        setting_up.unconfirm(db, of.instrument.id)
    detail = {"why": why, "count_no_more": list(ended)}
    subject = f"instrument {of.instrument.id}"
    audit.note(db, by=act.by, act="change an instrument", subject=subject, detail=detail)
    return ended


def _map(db: Connection, name: str) -> RegisterMap:
    known = library.published(db)
    if name not in known:
        raise BadField("map", f"map is {name!r}; choose one of those that a worker has published")
    return known[name].map


def _channel(entry: Entry, typed: Typed) -> dict[str, Any]:
    try:
        parameter = parameters.parameter(typed.get("parameter", ""))
    except InputError as error:
        raise BadField("parameter", str(error)) from None
    try:
        unit = units.unit(typed.get("channel_unit", ""))
        wanted = parameters.UNIT_KIND.get(parameter, "concentration")
        if units.dimension(unit) != wanted:
            raise InputError(
                f"unit is {unit.value}, which measures {units.dimension(unit)}; {parameter.value} "
                f"needs a unit of {wanted}"
            )
        if entry.unit is not None:
            units.linear(entry.unit, unit)
    except InputError as error:
        raise BadField("channel_unit", str(error)) from None
    low, high = _span(entry, typed)
    resolution = _decimal(typed, "resolution")
    try:
        steps.check(resolution, parameter, unit, spread=_spread(entry, unit, (low, high)))
    except InputError as error:
        raise BadField("resolution", str(error)) from None
    return {
        "entry": entry.name,
        "parameter": parameter.value,
        "unit": unit.value,
        "resolution": f"{resolution:f}",
        "span_low": low,
        "span_high": high,
        "modulus": _modulus(entry, unit),
    }


def _spread(
    entry: Entry, unit: units.Unit, span: tuple[float | None, float | None]
) -> Decimal | None:
    """How wide the instrument's range is in the channel's unit, where that is known."""
    low, high = span
    if low is not None and high is not None:
        return Decimal(str(high)) - Decimal(str(low))
    if entry.low is None or entry.high is None or entry.unit is None:
        return None
    factor, _ = units.linear(entry.unit, unit)
    return units.as_decimal(Fraction(entry.high - entry.low) * factor)


def _modulus(entry: Entry, unit: units.Unit) -> str | None:
    """Where a count starts again, in the channel's unit."""
    if entry.modulus is None:
        return None
    factor = Fraction(1) if entry.unit is None else units.linear(entry.unit, unit)[0]
    return f"{units.as_decimal(Fraction(entry.modulus) * factor):f}"


def _span(entry: Entry, typed: Typed) -> tuple[float | None, float | None]:
    if not entry.share:
        return None, None
    low, high = (_decimal(typed, field) for field in ("span_low", "span_high"))
    if low >= high:
        raise BadField("span_high", f"span is {low} to {high}; expected its upper end above")
    return float(low), float(high)


def _way(channel: Channel) -> dict[str, str]:
    of = {key: getattr(channel, key) for key in ("span_low", "span_high", "resolution")}
    return _told(of | {"parameter": channel.parameter.value, "unit": channel.unit.value})


def _told(values: Mapping[str, Any]) -> dict[str, str]:
    """What a channel's readings are told in; no span where there is none."""
    low, high = values["span_low"], values["span_high"]
    return {
        "parameter": values["parameter"],
        "unit": values["unit"],
        "step": f"{Decimal(values['resolution']).normalize():f}",
        "span": "" if low is None or high is None else f"{low:g} to {high:g}",
    }


def _text(typed: Typed, field: str) -> str:
    text = typed.get(field, "").strip()
    if not text or len(text) > LONGEST_NAME or not text.isprintable():
        raise BadField(field, f"{field} is empty or too long; expected 1 to {LONGEST_NAME} letters")
    return text


def whole(typed: Typed, field: str, *, low: int, high: int) -> int:
    """A whole number as it was typed. Raises: BadField."""
    text = typed.get(field, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
        raise BadField(field, f"{field} is {text[:40]!r}; expected a number from {low} to {high}")
    return int(text)


def _decimal(typed: Typed, field: str) -> Decimal:
    number = number_of(typed.get(field, ""))
    if number is None:
        raise BadField(field, f"{field} is {typed.get(field, '')[:40]!r}; expected a number, 0.01")
    return number


def number_of(text: str) -> Decimal | None:
    """A plain decimal as a person types it; None for anything else."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < 30 and len(text) < 60 else None


def day_of(typed: Typed, field: str, *, today: date) -> date:
    """A day that has been, as forms send it. Raises: BadField."""
    name = field.replace("_", " ")
    try:
        day = date.fromisoformat(typed.get(field, ""))
    except ValueError:
        raise BadField(field, f"{name} is no day; expected one such as 2026-03-01") from None
    if not FIRST_DAY <= day <= today:
        raise BadField(field, f"{name} is {day}; expected a day from {FIRST_DAY} to today, {today}")
    return day
