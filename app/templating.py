"""Jinja pages: filters for instants, numbers and states as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from markupsafe import Markup

from app.auth import may
from compliance.billing import words
from compliance.model.parameters import Parameter, label
from compliance.model.periods import from_us, spoken
from compliance.model.sites import Viewer
from compliance.model.volumes import percent

UNIT_SHOWN = {"degF": "°F", "degC": "°C", "ug/L": "µg/L", "m3/h": "m³/h", "m3": "m³"}
PROPER_NAMES = ("Kjeldahl",)
STATE_SHOWN = {
    "detected": "▲ To decide",
    "opened": "▲ Violation open",
    "waiting": "◇ Waiting",
    "explained": "● Explained",
    "joined": "● Joined",
    "noticed": "▲ Notice sent",
    "escalated": "■ Escalated",
    "corrected": "● Corrected",
    "closed": "● Closed",
    "delivered": "● Delivered",
    "dead": "▲ Given up",
    "working": "● Working",
    "disabled": "■ Disabled",
    "reached": "▲ Reaches 10 %",
    "projected": "◇ Projected over 10 %",
    "unsettled": "◇ Waits for the Director",
    "below": "● Below",
    "issued": "● Issued",
    "draft": "◇ Draft",
}


def local(at: datetime, zone: str, form: str = "%-d %b %Y %H:%M") -> str:
    """An instant at the plant, with its zone."""
    there = at.astimezone(ZoneInfo(zone))
    return f"{there.strftime(form)} {there.tzname()}"


def clock(at: datetime, zone: str) -> str:
    """An instant at the plant to the second, with its zone."""
    return local(at, zone, "%-d %b %H:%M:%S")


def moment(at: datetime, zone: str) -> str:
    """An instant at the plant to the second, with its year and zone: for what is kept."""
    return local(at, zone, "%-d %b %Y %H:%M:%S")


def stamp(at: datetime) -> str:
    """An instant inside an address."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(on: date) -> str:
    """A civil day."""
    return on.strftime("%-d %b %Y")


def iso_day(written: str) -> str:
    """The civil day that ISO text begins with."""
    return day(date.fromisoformat(written[:10]))


def day_at(at: datetime, zone: str) -> str:
    """The civil day of an instant at the plant."""
    return day(at.astimezone(ZoneInfo(zone)))


def month_at(at: datetime, zone: str) -> str:
    """The civil month of an instant at the plant."""
    return at.astimezone(ZoneInfo(zone)).strftime("%b %Y")


def duration(seconds: float) -> str:
    """A length of time in words: 42 s, 6 min, 5 h 10 min, 3 d 4 h."""
    return spoken(seconds)


def unit_shown(unit: str) -> str:
    """A unit as people write it; pH has none."""
    return "" if unit in ("s.u.", "state", "count") else UNIT_SHOWN.get(unit, unit)


def number(value: float | Decimal | None, resolution: str = "0.01") -> str:
    """A reading to its channel's resolution, without an exponent; a dash when nothing came."""
    if value is None:
        return "–"
    places = max(0, -int(Decimal(resolution).normalize().as_tuple().exponent))
    return f"{value:,.{places}f}"


def parameter_shown(name: str) -> str:
    """A parameter's name for people."""
    return label(Parameter(name)) if name in set(Parameter) else name


def within(name: str) -> str:
    """A parameter's name inside a sentence: flow, pH, phosphorus (TP), Kjeldahl nitrogen (TKN)."""
    shown = parameter_shown(name)
    keeps = shown[1:2].isupper() or shown.startswith(PROPER_NAMES)
    return shown if keeps else shown[:1].lower() + shown[1:]


def code(text: str) -> Markup:
    """A docstring's words between double backticks as code."""
    parts = text.split("``")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts)
    )


def quantity(written: str) -> str:
    """An exact number as a bill prints it; what is cut is marked."""
    return words.number(Decimal(written))


def dollars(written: str) -> str:
    """An exact amount of money as a bill prints it."""
    return words.money(Decimal(written))


def gallons(value: Decimal | str | None) -> str:
    """A volume for people; a dash where none is known."""
    if value is None:
        return "–"
    exact = Decimal(value)
    return f"{exact:,.0f} gal" if abs(exact) >= 100 else f"{exact:,.1f} gal"


def signed(value: Decimal, places: int) -> str:
    """A difference with its sign; none where it rounds to nothing."""
    rounded = round(value, places)
    return f"{rounded:+,.{places}f}" if rounded else f"{0:.{places}f}"


def share_shown(value: Decimal | str) -> str:
    """A share as per cent, to a tenth where it is not whole."""
    return f"{Decimal(value) * 100:.1f}".removesuffix(".0") + " %"


def sentence(text: str) -> str:
    """A text with one full stop at its end."""
    return f"{text.rstrip('. ')}."


def capitalized(text: str) -> str:
    """A text with a capital at its beginning, the rest as it is."""
    return text[:1].upper() + text[1:]


def is_simulated(how: str | None) -> bool:
    """Whether an instrument's order was confirmed by a simulator, not at a display."""
    return (how or "").casefold().startswith("simulated")


def state_shown(state: str) -> str:
    """A state by shape and word."""
    return STATE_SHOWN.get(state, f"◇ {state.replace('_', ' ').capitalize()}")


templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
templates.env.trim_blocks = templates.env.lstrip_blocks = True
templates.env.filters.update(
    local=local,
    clock=clock,
    moment=moment,
    stamp=stamp,
    day=day,
    day_at=day_at,
    month_at=month_at,
    iso_day=iso_day,
    duration=duration,
    unit=unit_shown,
    number=number,
    parameter=parameter_shown,
    state=state_shown,
    within=within,
    code=code,
    quantity=quantity,
    dollars=dollars,
    sentence=sentence,
    capitalize_first=capitalized,
    gallons=gallons,
    share=share_shown,
    signed=signed,
    percent=percent,
    at_us=from_us,
)
templates.env.policies["json.dumps_kwargs"] = {"sort_keys": True, "ensure_ascii": False}
templates.env.tests["simulated"] = is_simulated


def page(
    request: Request, name: str, context: Mapping[str, Any] | None = None, *, status: int = 200
) -> HTMLResponse:
    """A page for the viewer of a request, if one is signed in."""
    viewer: Viewer | None = getattr(request.state, "viewer", None)
    every = {"viewer": viewer, "may": may, "here": request.url.path}
    return templates.TemplateResponse(request, name, {**every, **(context or {})}, status)
