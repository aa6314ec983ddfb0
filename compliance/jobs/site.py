"""A site document: cities, users, points, gateways, instruments and channels as one YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from compliance.errors import InputError
from compliance.jobs import confirmed, site_sampler
from compliance.model import parameters, steps, units
from compliance.model.endpoints import endpoint
from compliance.model.periods import midnight
from compliance.records import audit, setting_up, sites
from compliance.records import tables as t
from compliance.rules import book


def _quoted(value: object) -> object:
    if isinstance(value, float):
        raise ValueError(f"{value} must stand in quotes, so that no digit is lost")
    return value


Number = Annotated[Decimal, BeforeValidator(_quoted)]


def _positive(text: str) -> str:
    if Decimal(text) <= 0:
        raise ValueError("expected a number over zero")
    return text


NumberText = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]


Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$", max_length=40)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Confirmed(_Document):
    """Who compared an instrument's values with its display, and how; from then on they count."""

    by: str
    on: date
    how: str
    counts_from: date | None = None  # else from that day on


class CommissioningDocument(_Document):
    """By whom a continuous measurement was approved, and how often it is calibrated."""

    method: str
    location: str
    frequency: str
    approved_by: str
    approved_on: date
    document: str
    calibration_days: int


class CalibrationDocument(_Document):
    """One calibration: what the standards read before and after."""

    at: datetime
    by: str
    standards: list[dict[str, str]]
    drift: str


class ChannelDocument(_Document):
    """One mapped signal of an instrument."""

    entry: str
    parameter: str
    unit: str
    resolution: Annotated[NumberText, AfterValidator(_positive)]
    interval_s: Annotated[Number, Field(ge=Decimal("0.1"), le=86_400)]
    span: tuple[Number, Number] | None = None
    modulus: NumberText | None = None
    max_per_second: Annotated[NumberText, AfterValidator(_positive)] | None = None
    commissioning: CommissioningDocument | None = None
    calibrations: list[CalibrationDocument] = []


class InstrumentDocument(_Document):
    """One unit id behind the gateway of a point."""

    unit: int = Field(ge=0, le=255)
    map: str
    order: Literal["ABCD", "CDAB", "BADC", "DCBA"] | None = None
    confirmed: Confirmed | None = None
    channels: list[ChannelDocument]


class GatewayDocument(_Document):
    """A Modbus endpoint; a serial device has its path as host, port 0 and transport serial."""

    name: Text
    host: Text
    port: int = Field(ge=0, lt=65536)
    transport: str = "tcp"

    @model_validator(mode="after")
    def _can_be_meant(self) -> GatewayDocument:
        try:
            endpoint(self.host, self.port, self.transport)
        except InputError as error:
            raise ValueError(str(error)) from None
        return self


class PointDocument(_Document):
    """A monitoring point and what measures there."""

    code: Code
    place: Text
    gateway: GatewayDocument | None = None
    instruments: list[InstrumentDocument] = []
    sampler: site_sampler.SamplerDocument | None = None


class UserDocument(_Document):
    """An industrial user."""

    slug: Slug
    name: Text
    makes: Text
    is_significant: bool
    category: Literal["A", "B", "C", "D"]
    water_meter: Text
    points: list[PointDocument]


class PlantDocument(_Document):
    """The treatment plant's average-day design and the paper it stands in."""

    name: str
    average_design: dict[str, NumberText]
    source: str


class CityDocument(_Document):
    """A city: its zone, the rulebooks that bind there, who does what, its plant and its users."""

    slug: Slug
    name: Text
    zone: Text
    rulebooks: Annotated[list[str], Field(min_length=1)]
    control_authority: str
    ordinance_authority: str
    billing_authority: str
    plant: PlantDocument | None = None
    users: list[UserDocument]


class SiteDocument(_Document):
    """What ``pretreat import`` reads."""

    cities: list[CityDocument]
    polled_since: datetime = datetime(2000, 1, 1, tzinfo=UTC)


def parse(text: str, *, file: str) -> SiteDocument:
    """Read a site document.

    Raises: InputError naming file, place, what was found and what was expected.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        where = f", line {place.line + 1}" if place else ""
        raise InputError(f"{file}{where}: this is not YAML; check indentation and quotes") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: no site document; expected a mapping with the key cities")
    try:
        document = SiteDocument.model_validate(content)
        for city in document.cities:
            _check_city(city)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        found = first["input"]
        said = str(first["msg"]).removeprefix("Value error, ")
        raise InputError(f"{file}: {place} is {str(found)[:60]!r}: {said}") from None
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return document


def _check_city(city: CityDocument) -> None:
    """What a model of fields cannot see: names that must be known, and units that must fit."""
    for name in city.rulebooks:
        book.book(name)
    try:
        ZoneInfo(city.zone)
    except (KeyError, ValueError):
        raise InputError(
            f"zone of {city.slug} is {city.zone!r}; expected a time zone such as America/Chicago"
        ) from None
    for channel in _channels(city):
        parameter, unit = parameters.parameter(channel.parameter), units.unit(channel.unit)
        wanted = parameters.UNIT_KIND.get(parameter, "concentration")
        if units.dimension(unit) != wanted:
            raise InputError(
                f"channel {channel.entry}: {unit.value} measures {units.dimension(unit)}; "
                f"{parameter.value} needs a unit of {wanted}"
            )
        spread = None if channel.span is None else channel.span[1] - channel.span[0]
        try:
            steps.check(Decimal(channel.resolution), parameter, unit, spread=spread)
        except InputError as error:
            raise InputError(f"channel {channel.entry}: {error}") from None


def _channels(city: CityDocument) -> list[ChannelDocument]:
    return [
        channel
        for user in city.users
        for point in user.points
        for instrument in point.instruments
        for channel in instrument.channels
    ]


def store(
    engine: Engine, document: SiteDocument, *, by: str = "the program", file: str = ""
) -> dict[str, int]:
    """Write a site document, all of it or nothing; what stands already is brought up to date.

    A channel that the document leaves out of its point is read no more; its readings stay.
    by, file: who brings it and what it is called, for the audit log.
    Returns how many cities, users, points and channels it holds.

    Raises: InputError when it does not fit what stands already.
    """
    try:
        return _store(engine, document, by=by, file=file)
    except IntegrityError as error:
        raise InputError(
            f"the site does not fit what stands here already: {str(error.orig).splitlines()[-1]}; "
            "a gateway's address, a point's code and a user's slug may stand once"
        ) from None


def _store(engine: Engine, document: SiteDocument, *, by: str, file: str) -> dict[str, int]:
    count = {"cities": 0, "users": 0, "points": 0, "channels": 0}
    with engine.begin() as db:
        for city in document.cities:
            count["cities"] += 1
            city_id = _store_city(db, city)
            for user in city.users:
                count["users"] += 1
                user_id = _store_user(db, user, city_id=city_id)
                for point in user.points:
                    count["points"] += 1
                    where = _Where(user_id=user_id, zone=ZoneInfo(city.zone), by=by)
                    count["channels"] += _store_point(db, point, where, since=document.polled_since)
        audit.note(db, by=by, act="import a site", subject=file or "site document", detail=count)
    return count


def _store_city(db: Connection, city: CityDocument) -> int:
    values = city.model_dump(exclude={"plant", "users"})
    city_id = sites.upsert(db, t.city, values, key=["slug"])
    if city.plant and sites.plant(db, city_id) is None:
        db.execute(t.plant.insert().values(city_id=city_id, **city.plant.model_dump()))
    return city_id


def _store_user(db: Connection, user: UserDocument, *, city_id: int) -> int:
    values = user.model_dump(exclude={"points"}) | {"city_id": city_id}
    return sites.upsert(db, t.industrial_user, values, key=["slug"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """Whose point it is, where its days begin, and who brings the document."""

    user_id: int
    zone: ZoneInfo
    by: str


def _store_point(db: Connection, point: PointDocument, where: _Where, *, since: datetime) -> int:
    point_id = sites.upsert(
        db,
        t.monitoring_point,
        {"industrial_user_id": where.user_id, "code": point.code, "place": point.place},
        key=["code"],
    )
    if point.gateway is None:
        return 0
    gateway_id = sites.upsert(db, t.gateway, point.gateway.model_dump(), key=["name"])
    kept: dict[tuple[int, str], int] = {}
    for instrument in point.instruments:
        known = setting_up.behind(db, gateway_id, instrument.unit)
        before = None if known is None else setting_up.reads(db, known)
        instrument_id = _store_instrument(db, instrument, gateway_id=gateway_id, point_id=point_id)
        for channel in instrument.channels:
            kept[instrument.unit, channel.entry] = _store_channel(
                db, channel, point_id=point_id, instrument_id=instrument_id, since=since
            )
        stated = _stated(instrument.confirmed, where.zone)
        confirmed.settle(db, instrument_id, before, stated, by=where.by)
    sites.retire_others(db, point_id, keep=list(kept.values()))
    if point.sampler:
        site_sampler.store(db, point.sampler, point=point.code, point_id=point_id, channels=kept)
    return len(kept)


def _store_instrument(
    db: Connection, instrument: InstrumentDocument, *, gateway_id: int, point_id: int
) -> int:
    values: dict[str, Any] = {
        "gateway_id": gateway_id,
        "monitoring_point_id": point_id,
        "unit_id": instrument.unit,
        "map_name": instrument.map,
        "byte_order": instrument.order,
    }
    return sites.upsert(db, t.instrument, values, key=["gateway_id", "unit_id"])


def _stated(said: Confirmed | None, zone: ZoneInfo) -> confirmed.Stated | None:
    """A confirmation with its days as instants at the plant."""
    if said is None:
        return None
    at, since = (midnight(day, zone) for day in (said.on, said.counts_from or said.on))
    return confirmed.Stated(by=said.by, at=at, how=said.how, counts_from=since)


def _store_channel(
    db: Connection,
    channel: ChannelDocument,
    *,
    point_id: int,
    instrument_id: int,
    since: datetime,
) -> int:
    low, high = channel.span or (None, None)
    values: dict[str, Any] = {
        "monitoring_point_id": point_id,
        "instrument_id": instrument_id,
        "entry": channel.entry,
        "parameter": parameters.parameter(channel.parameter).value,
        "unit": units.unit(channel.unit).value,
        "resolution": channel.resolution,
        "span_low": low,
        "span_high": high,
        "modulus": channel.modulus,
        "max_per_second": channel.max_per_second,
        "is_read": True,
    }
    channel_id = sites.upsert(db, t.channel, values, key=["instrument_id", "entry"])
    sites.set_cadence(db, channel_id, since=since, interval_ms=int(channel.interval_s * 1000))
    if channel.commissioning:
        sites.add_once(
            db, t.commissioning, {"channel_id": channel_id, **channel.commissioning.model_dump()}
        )
    for calibration in channel.calibrations:
        values = calibration.model_dump()
        values["calibrated_at"] = values.pop("at")
        sites.add_once(db, t.calibration, {"channel_id": channel_id, **values})
    return channel_id
