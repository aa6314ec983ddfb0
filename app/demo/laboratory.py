"""A laboratory's year for one user, as the files it would send: invented, seeded, plausible."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

import numpy as np

from app.demo.plan import DemoUser

LABORATORY = "Kinnickinnic Analytical (invented)"
METHOD = {
    "cbod5": "SM 5210 B",
    "bod5": "SM 5210 B",
    "tss": "SM 2540 D",
    "tkn": "EPA 351.2",
    "tp": "EPA 365.4",
    "petroleum_oil": "EPA 1664B (SGT-HEM)",
}
NAME = {
    "cbod5": "CBOD5",
    "bod5": "BOD5",
    "tss": "Total Suspended Solids",
    "tkn": "Total Kjeldahl Nitrogen",
    "tp": "Total Phosphorus",
    "petroleum_oil": "SGT-HEM",
}
HEADINGS = (
    "Sample ID", "Point", "Sample Type", "Start", "End", "Parameter", "Result", "Units", "RL",
    "Method", "Laboratory",
)  # fmt: skip
SPREAD = 0.12


def files(user: DemoUser, *, point: str, first: date, last: date) -> Iterator[tuple[str, str]]:
    """The files of a user's laboratory from one day to another, one a month: name and content.

    A flow-proportional composite of 24 hours each Wednesday, a grab for petroleum oil every tenth
    week.
    """
    random = np.random.default_rng(zlib.crc32(user.name.encode()))
    oils = list(user.petroleum_oil)
    month: list[list[str]] = []
    name = ""
    for number, day in enumerate(_wednesdays(first, last)):
        this = f"{user.document['slug']}-{day:%Y-%m}.csv"
        if month and this != name:
            yield name, _text(month)
            month = []
        name = this
        month += _composite(user, random, point=point, day=day)
        if number % 10 == 4 and oils:
            month.append(_grab(oils.pop(0), point=point, day=day))
    if month:
        yield name, _text(month)


def _wednesdays(first: date, last: date) -> Iterator[date]:
    day = first + timedelta(days=(2 - first.weekday()) % 7)
    while day <= last:
        yield day
        day += timedelta(days=7)


def _composite(
    user: DemoUser, random: np.random.Generator, *, point: str, day: date
) -> Iterator[list[str]]:
    for parameter, mean in user.strength.items():
        value = float(mean) * float(np.exp(random.normal(0, SPREAD)))
        places = "1" if mean >= 100 else "0.1"
        yield [
            f"{point}-{day:%y%m%d}-C", point, "composite", f"{day} 00:00", f"{day} 24:00",
            NAME[parameter], str(Decimal(value).quantize(Decimal(places))), "mg/L",
            "0.1" if parameter == "tp" else "2", METHOD[parameter], LABORATORY,
        ]  # fmt: skip


def _grab(written: str, *, point: str, day: date) -> list[str]:
    at = f"{day} 10:15"
    return [
        f"{point}-{day:%y%m%d}-G", point, "grab", at, at, NAME["petroleum_oil"], written, "mg/L",
        "5.0", METHOD["petroleum_oil"], LABORATORY,
    ]  # fmt: skip


def _text(rows: list[list[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADINGS)
    writer.writerows(rows)
    return out.getvalue()
