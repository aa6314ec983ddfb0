"""An evidence pack: one ZIP with a finding, its readings and papers, hashes, and their check.

The same record gives the same bytes, whoever packs it and whenever.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from app import explaining, printing
from app.templating import templates
from compliance.errors import InputError
from compliance.jobs.explain import Explained, Source
from compliance.judging import reproduce
from compliance.model.periods import from_us
from compliance.records import finding, sites

SUMS = "SHA256SUMS"
MOST = 2_000_000
"""Readings in one pack: half a month of one a second, four years of one a minute."""
PRINTED = 200
"""Rows of readings on paper: those around the worst; all of them are in the CSV."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The oldest instant a ZIP can say: the pack is dated by nothing but its record."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HEADER = (
    "at", "at_local", "value", "unit", "judged", "quality", "interval_us", "words",
)  # fmt: skip

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What goes into a pack: the finding as JSON, rows of readings, calibrations, papers.

    worst: the position of the worst reading among the rows; None where there are none.
    """

    said: Mapping[str, Any]
    rows: tuple[Row, ...]
    worst: int | None
    calibrations: tuple[Mapping[str, Any], ...]


def gather(db: Connection, of: Explained) -> Gathered:
    """All that a pack needs, read from the record.

    Raises: InputError where there are more readings than one pack holds.
    """
    said = explaining.document(of, asked=of.record.fact.id)
    if of.source is None:
        return Gathered(said=said, rows=(), worst=None, calibrations=())
    if len(of.source.series) > MOST:
        raise InputError(
            f"finding {of.record.fact.id} rests on {len(of.source.series):,} readings, expected at "
            f"most {MOST:,} in one pack: take its readings by the API, and its facts by --json"
        )
    rows = tuple(_rows(db, of, of.source))
    at = of.record.fact.worst_at.astimezone(ZoneInfo("UTC")).isoformat()
    worst = next((n for n, row in enumerate(rows) if row[0] == at), None)
    papers = sites.papers(db, of.source.channel.id)
    return Gathered(said=said, rows=rows, worst=worst, calibrations=papers.calibrations)


def pack(of: Gathered) -> bytes:
    """The ZIP."""
    files = {
        "check.py": resources.files("app.packs").joinpath("check.py").read_bytes(),
        "fact.json": _json(of.said),
        "readings.csv": _csv(_HEADER, of.rows),
        "calibrations.json": _json(list(of.calibrations)),
        **_printed(of),
    }
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in sorted(files.items())
    )
    return _zip({**files, SUMS: sums.encode()})


def _printed(of: Gathered) -> dict[str, bytes]:
    """The finding to be read by people: a page to be printed, and a PDF where one can be made."""
    html = templates.get_template("pack.html").render(
        said=of.said,
        papers=explaining.papers(of.said["evidence"]),
        rows=_near(of),
        all_rows=len(of.rows),
        worst=of.rows[of.worst][0] if of.worst is not None else None,
    )
    files = {"evidence.html": html.encode()}
    made = printing.pdf(html, identifier=str(of.said["finding"]))
    return {**files, "evidence.pdf": made} if made is not None else files


def _near(of: Gathered) -> tuple[Row, ...]:
    """The readings that are printed."""
    if len(of.rows) <= PRINTED:
        return of.rows
    middle = of.worst or 0
    first = min(max(0, middle - PRINTED // 2), len(of.rows) - PRINTED)
    return of.rows[first : first + PRINTED]


def _rows(db: Connection, of: Explained, source: Source) -> Iterable[Row]:
    zone = ZoneInfo(of.record.zone)
    words = _words(db, source)
    unit = source.channel.unit.value
    intervals = source.series.interval_us
    told = reproduce.rows(source.series, of.record.fact.parameter)
    for (at_us, value, quality, judged), interval in zip(told, intervals, strict=True):
        at: datetime = from_us(at_us)
        yield (
            at.isoformat(),
            at.astimezone(zone).isoformat(),
            "" if value is None else f"{Decimal(repr(value)):f}",
            unit,
            "yes" if judged else "no",
            quality or "good",
            str(int(interval)),
            " ".join(f"0x{word:04X}" for word in words.get(at_us, ())),
        )


def _words(db: Connection, source: Source) -> dict[int, tuple[int, ...]]:
    """The registers as they came; none where no register map says how many there are."""
    content = (sites.papers(db, source.channel.id).register_map or {}).get("content", {})
    entry = content.get("entries", {}).get(source.channel.entry)
    if entry is None:
        return {}
    since, until = from_us(source.span.since_us), from_us(source.span.until_us)
    count = int(entry["words"])
    return finding.words(db, source.channel.id, since=since, until=until, count=count)


def _csv(header: Row, rows: Iterable[Row]) -> bytes:
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(tuple(_safe(cell) for cell in row) for row in rows)
    return text.getvalue().encode()


def _safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; a number stays a number."""
    if not cell.startswith(_FORMULA) or _is_number(cell):
        return cell
    return f"'{cell}"


def _is_number(cell: str) -> bool:
    return cell.lstrip("+-").replace(".", "", 1).isdecimal() and cell.isascii()


def _json(of: Any) -> bytes:
    return (json.dumps(of, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _zip(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content)
    return made.getvalue()
