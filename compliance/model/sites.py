"""Places and instruments: who discharges where, and what is measured there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from compliance.model.parameters import Parameter
from compliance.model.units import Unit


class Role(StrEnum):
    """What a viewer may do here."""

    COORDINATOR = "coordinator"
    DIRECTOR = "director"
    CLERK = "clerk"
    OPERATOR = "operator"
    INDUSTRIAL_USER = "industrial_user"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A person signed in. People of an industrial user have its id: they see only theirs."""

    person_id: int
    name: str
    role: Role
    city_id: int | None
    industrial_user_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A Modbus endpoint; one connection, many unit ids behind it.

    transport: how it is spoken to, as ``compliance.model.endpoints.endpoint`` reads it; a serial
    device is its host, with port 0.
    """

    id: int
    name: str
    host: str
    port: int
    transport: str = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """One unit id behind a gateway, read by a register map.

    order: the byte order of its 32- and 64-bit values where the map leaves it open;
    confirmed_by, confirmed_at: who compared it with the display on site.
    """

    id: int
    gateway_id: int
    unit_id: int
    map_name: str
    order: str | None
    confirmed_by: str | None
    confirmed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One mapped signal of a monitoring point, with one parameter and one unit.

    span: the engineering range of a value that its register gives as a share, else (None, None).
    """

    id: int
    point_id: int
    instrument_id: int | None
    entry: str  # the name in the register map
    parameter: Parameter
    unit: Unit
    resolution: str  # a decimal such as "0.01": readings are rounded to it once, at decoding
    interval_ms: int
    span_low: float | None
    span_high: float | None
    modulus: str | None  # of a total, in the channel's unit
    max_per_second: str | None = None  # of a total: the most that the pipe can pass
