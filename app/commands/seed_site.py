"""The demo's site document: its cities and users with the instruments of the scenario."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from app.demo import plan
from compliance.jobs import site
from ingest import scenario as scenarios
from ingest.manhole import Signal

HISTORY_FROM = date(2000, 1, 1)
"""The simulated history counts too."""


def site_document(
    world: scenarios.Scenario, demo: plan.Plan, started_at: datetime
) -> site.SiteDocument:
    """The site of the demo: its cities and users, with the instruments of the scenario."""
    cities = []
    for city in demo.cities:
        users = [
            {
                **user.document,
                "points": [
                    _point(manhole, started_at)
                    for manhole in world.manholes
                    if manhole.user == user.name
                ],
            }
            for user in demo.users
            if user.city["slug"] == city["slug"]
        ]
        cities.append({**city, "users": users})
    return site.SiteDocument.model_validate({"cities": cities, "polled_since": started_at})


def _point(manhole: scenarios.Manhole, started_at: datetime) -> dict[str, Any]:
    return {
        **_sampler(manhole),
        "code": manhole.point,
        "place": f"Control manhole {manhole.point}, {manhole.user}",
        "gateway": {"name": manhole.gateway, "host": manhole.host, "port": manhole.port},
        "instruments": [
            {
                "unit": unit.unit,
                "map": unit.map.name,
                "order": unit.order.value,
                "confirmed": {
                    "by": "pretreat demo",
                    "on": started_at.date(),
                    "how": "simulated: the simulator uses this order",
                    "counts_from": HISTORY_FROM,
                },
                "channels": [_channel(channel, manhole, started_at) for channel in unit.channels],
            }
            for unit in manhole.units
        ],
    }


def _sampler(manhole: scenarios.Manhole) -> dict[str, Any]:
    """The sampler of a manhole whose aliquots are counted: a composite a day."""
    channels = {
        channel.signal: {"unit": unit.unit, "entry": channel.entry}
        for unit in manhole.units
        for channel in unit.channels
    }
    if Signal.SAMPLE_COUNT not in channels:
        return {}
    sampler = {
        "effective": date(2026, 1, 1),
        "aliquots": channels[Signal.SAMPLE_COUNT],
        "total": channels[Signal.TOTAL],
        "bottle": channels.get(Signal.BOTTLE),
        "composite": "program",
        "gallons_per_aliquot": f"{manhole.profile.gallons_per_sample:g}",
        "aliquots_per_bottle": manhole.profile.samples_per_bottle,
    }
    return {"sampler": sampler}


def _channel(
    channel: scenarios.SignalChannel, manhole: scenarios.Manhole, started_at: datetime
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "entry": channel.entry,
        "parameter": channel.parameter.value,
        "unit": channel.unit.value,
        "resolution": str(channel.resolution),
        "interval_s": str(channel.interval_s),
        "span": channel.span,
        "modulus": str(channel.modulus) if channel.modulus else None,
    }
    if channel.parameter.value == "ph":
        document["commissioning"] = _commissioning("EPA 150.2", manhole, 30)
        document["calibrations"] = [
            {
                "at": started_at - timedelta(days=days),
                "by": "Lee Kim, operator",
                "standards": [
                    {"standard": "4.01", "before": "4.03", "after": "4.01"},
                    {"standard": "7.00", "before": drift, "after": "7.00"},
                    {"standard": "10.01", "before": "9.98", "after": "10.01"},
                ],
                "drift": str(abs(Decimal(drift) - 7)),
            }
            for days, drift in ((98, "7.03"), (70, "7.05"), (41, "6.97"), (12, "7.04"))
        ]
    elif channel.parameter.value == "temperature":
        document["commissioning"] = _commissioning("SM 2550 B", manhole, 365)
        document["calibrations"] = [
            {
                "at": started_at - timedelta(days=120),
                "by": "Lee Kim, operator",
                "standards": [{"standard": "32.0", "before": "32.1", "after": "32.0"}],
                "drift": "0.1",
            }
        ]
    return document


def _commissioning(method: str, manhole: scenarios.Manhole, days: int) -> dict[str, Any]:
    return {
        "method": method,
        "location": f"control manhole {manhole.point}, before dilution",
        "frequency": "continuous",
        "approved_by": "Paul Lindqvist, Director of Public Works",
        "approved_on": date(2026, 1, 12),
        "document": f"Approval letter 2026-{manhole.point} (invented)",
        "calibration_days": days,
    }
