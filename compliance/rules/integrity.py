"""The figures of the integrity detectors, by day: what is worth a second look."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import resources
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, model_validator

from compliance.rules.effective import in_force, overlap
from compliance.rules.schema import Number, Strict

Whole = Annotated[int, Field(gt=0)]


class Plateau(Strict):
    """Buffer values at which pH stands: how near, for how long."""

    buffers: tuple[Number, ...] = Field(min_length=1)
    within: Number
    seconds: Whole


class Outages(Strict):
    """How long, how many, and which share of them began while water ran.

    running_at_most: the share of all the time that it ran; where it always runs nothing coincides.
    """

    seconds: Whole
    least: Whole
    share: Number
    running_at_most: Number


class Water(Strict):
    """Sewer flow under this share of the metered water, over so many days at least."""

    share: Number
    least_days: Whole


class Splits(Strict):
    """How far two laboratories may differ of their mean, and how many pairs show a lean."""

    difference: Number
    least: Whole


class LowDays(Strict):
    """How many samples, all on days under the median flow."""

    least: Whole


class Identical(Strict):
    """How many results in a row are alike to the digit, with how many digits."""

    least: Whole
    digits: Whole


class CalibrationLog(Strict):
    """Two buffers within some time, each held for some, and no record near it."""

    apart_seconds: Whole
    hold_seconds: Whole
    log_seconds: Whole


class IntegritySettings(Strict):
    """All figures from a day on."""

    version: Annotated[str, Field(min_length=3)]
    effective: date | None
    ended: date | None = None
    running: Number
    plateau: Plateau
    outages: Outages
    water: Water
    splits: Splits
    low_days: LowDays
    identical: Identical
    calibration: CalibrationLog


class IntegrityBook(Strict):
    """The figures through time."""

    integrity: Literal["program"]
    versions: tuple[IntegritySettings, ...]

    @model_validator(mode="after")
    def _one_a_day(self) -> Self:
        if (day := overlap(self.versions)) is not None:
            raise ValueError(f"two versions claim {day.isoformat()}")
        return self


@cache
def integrity_book() -> IntegrityBook:
    """The figures of this release."""
    file = resources.files("compliance.rules") / "program" / "integrity.yaml"
    return IntegrityBook.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def settings_on(day: date) -> IntegritySettings:
    """The figures in force on a day. Raises: NotInForce."""
    return in_force("integrity", integrity_book().versions, day)
