"""`pretreat import`: write a site document into the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from app.commands.acting import operator
from app.commands.import_papers import import_papers
from app.release import RELEASE
from compliance import settings
from compliance.errors import ComplianceError, InputError
from compliance.jobs import control_document, reruled, site
from compliance.model import parameters, units
from compliance.model.sites import Channel, Instrument
from compliance.records import schema
from compliance.records.engine import opened
from compliance.records.sites import InstrumentPlan
from ingest import library
from ingest.unit import Unit

command = typer.Typer(add_completion=False)


@command.callback(invoke_without_command=True)
def import_site(
    file: Annotated[Path, typer.Argument(metavar="SITE.yaml|PERMITS.yaml")],
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Write cities, users, points, gateways, instruments and channels: all of it or nothing.

    A channel left out of its point is read no more. Example: pretreat import site.yaml

    Or papers that bind users: permits, orders, agreements, approvals. What they bear on is judged
    anew from their first day. Example: pretreat import permits.yaml
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); check its name") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is no UTF-8 text; expected a YAML file") from None
    if control_document.is_papers(text):
        import_papers(text, file=str(file), as_json=as_json)
        return
    document = site.parse(text, file=str(file))
    configured = settings.load()
    _check_instruments(document, configured.home, file=str(file))
    with opened(configured) as engine:
        schema.require(engine)
        count = site.store(engine, document, by=operator(), file=file.name)
        with engine.begin() as db:  # a city that takes or leaves a rulebook
            reruled.look(db, release=RELEASE, now=datetime.now(UTC))
    if as_json:
        print(json.dumps(count))
    else:
        print(", ".join(f"{number} {what}" for what, number in count.items()))


def _check_instruments(document: site.SiteDocument, home: Path, *, file: str) -> None:
    """Refuse an instrument whose channels do not fit its register map, before it is written."""
    for city in document.cities:
        for user in city.users:
            for point in user.points:
                for instrument in point.instruments:
                    try:
                        Unit(_planned(instrument), library.load(instrument.map, home))
                    except ComplianceError as error:
                        raise InputError(f"{file}, point {point.code}: {error}") from None


def _planned(instrument: site.InstrumentDocument) -> InstrumentPlan:
    return InstrumentPlan(
        instrument=Instrument(
            id=0,
            gateway_id=0,
            unit_id=instrument.unit,
            map_name=instrument.map,
            order=instrument.order,
            confirmed_by=None,
            confirmed_at=None,
        ),
        channels=tuple(_channel(channel) for channel in instrument.channels),
    )


def _channel(channel: site.ChannelDocument) -> Channel:
    low, high = channel.span or (None, None)
    return Channel(
        id=0,
        point_id=0,
        instrument_id=0,
        entry=channel.entry,
        parameter=parameters.parameter(channel.parameter),
        unit=units.unit(channel.unit),
        resolution=channel.resolution,
        interval_ms=int(channel.interval_s * 1000),
        span_low=None if low is None else float(low),
        span_high=None if high is None else float(high),
        modulus=channel.modulus,
        max_per_second=channel.max_per_second,
    )
