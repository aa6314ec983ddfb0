"""The demo's cities, users and people, read from ``cities.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Any

import yaml

DOCUMENT = "cities.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoUser:
    """What the demo adds to a user of the site document: strengths and metered water."""

    name: str
    strength: dict[str, Decimal]  # mg/L by parameter
    petroleum_oil: tuple[str, ...]  # grabs of the year, oldest first
    water: Decimal  # metered water over discharge
    city: dict[str, Any]
    document: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything in ``cities.yaml``."""

    cities: tuple[dict[str, Any], ...]
    users: tuple[DemoUser, ...]
    people: tuple[dict[str, str], ...]


def load() -> Plan:
    """Read the plan of the demo."""
    content = yaml.safe_load((files("app.demo") / DOCUMENT).read_text(encoding="utf-8"))
    users = tuple(
        DemoUser(
            name=user["name"],
            strength={name: Decimal(str(value)) for name, value in user["strength"].items()},
            petroleum_oil=tuple(user["petroleum_oil"]),
            water=Decimal(user["water"]),
            city=city,
            document={
                "slug": slug(user["name"]),
                "category": "C",
                **{key: user[key] for key in ("name", "makes", "is_significant", "water_meter")},
            },
        )
        for city in content["cities"]
        for user in city["users"]
    )
    cities = tuple({k: v for k, v in city.items() if k != "users"} for city in content["cities"])
    return Plan(cities=cities, users=users, people=tuple(content["people"]))


def slug(name: str) -> str:
    """A name as addresses spell it."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.casefold()).split())
