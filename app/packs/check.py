"""Checks an evidence pack: every file by its SHA-256, and the finding from the readings.

Needs Python 3.8 or newer and nothing else. Unpack the ZIP and run, in its folder:

    python3 check.py

Exit code 0: all is as it says; 1: something is not, and what is printed; 2: it cannot be checked.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

SUMS, FACT, READINGS = "SHA256SUMS", "fact.json", "readings.csv"
SILENT_INTERVALS, REJOIN_US, SECOND_US = 3, 300_000_000, 1_000_000


class Reading(NamedTuple):
    """A judged reading in the limit's unit; instants and interval in microseconds."""

    at: int
    value: Fraction
    interval: int


class Run(NamedTuple):
    """Readings beyond the limit without a break, and what ended them."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    complied: bool
    silence: int


def main(folder: Path) -> int:
    """Check a folder; what is wrong is printed, one line each."""
    try:
        wrong = [*altered(folder)]
        said = json.loads((folder / FACT).read_text(encoding="utf-8"))
        wrong += differing(folder, said)
    except (OSError, ValueError, KeyError) as error:
        print(f"this pack cannot be checked ({type(error).__name__}: {error})")
        return 2
    for line in wrong:
        print(line)
    if wrong:
        return 1
    print("every file is as it was packed")
    print(recomputed(said))
    return 0


def altered(folder: Path) -> Iterator[str]:
    """The files that are not what the list says, that are missing, or that it does not name."""
    named = {SUMS}
    for line in (folder / SUMS).read_text(encoding="utf-8").splitlines():
        wanted, _, name = line.partition("  ")
        named.add(name)
        file = folder / name
        if not file.is_file():
            yield f"{name}: missing"
        elif hashlib.sha256(file.read_bytes()).hexdigest() != wanted:
            yield f"{name}: changed since it was packed"
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.name not in named:
            yield f"{file.name}: not part of the pack"


def differing(folder: Path, said: dict[str, Any]) -> Iterator[str]:
    """Where the readings do not give what the finding says."""
    fact = said["fact"]
    if fact["kind"] != "exceedance":
        return
    if said["result"]:
        yield from of_result(said)
    elif not said["destroyed"]:
        yield from of_readings(read(folder / READINGS, said), said)


def recomputed(said: dict[str, Any]) -> str:
    """What was computed anew, in one sentence."""
    fact = said["fact"]
    if fact["kind"] != "exceedance":
        return f"a finding of kind {fact['kind']} is not computed anew here: see fact.json"
    if said["result"]:
        return "the result lies outside the limit, as the finding says"
    if said["destroyed"]:
        return "readings were destroyed under a records schedule: nothing is computed anew"
    return (
        f"the readings give the finding: {fact['seconds']} s, {fact['seconds_beyond']} s beyond, "
        f"{fact['readings']} readings beyond, worst at {fact['worst_at']}"
    )


def of_result(said: dict[str, Any]) -> Iterator[str]:
    """Whether a result, in the limit's unit, lies outside."""
    scale = said["result"]["to_the_limits_unit"]
    value = Fraction(said["result"]["value"]) * Fraction(scale["factor"])
    value += Fraction(scale["offset"])
    limit, qualifier = Fraction(said["fact"]["limit"]), said["result"]["qualifier"]
    low = value < limit or (qualifier == "<" and value == limit)
    high = value > limit or (qualifier == ">" and value == limit)
    if not (low if said["fact"]["side"] == "below" else high):
        yield "finding: the result does not lie outside the limit"


def read(file: Path, said: dict[str, Any]) -> list[Reading]:
    """The judged readings under the version of the rule that the finding names."""
    scale = said["readings"]["to_the_limits_unit"]
    factor, offset = Fraction(scale["factor"]), Fraction(scale["offset"])
    begin, end = (_us(at) if at else None for at in said["readings"]["in_force"])
    found = []
    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            at = _us(row["at"])
            inside = (begin is None or at >= begin) and (end is None or at < end)
            if row["judged"] == "yes" and inside:
                value = Fraction(row["value"]) * factor + offset
                found.append(Reading(at, value, int(row["interval_us"])))
    return found


def of_readings(found: list[Reading], said: dict[str, Any]) -> Iterator[str]:
    """Whether the event that begins with the finding is the one it tells of."""
    fact = said["fact"]
    start = _us(fact["starts_at"])
    event = next((one for one in events(runs(found, fact)) if one[0].start == start), None)
    if event is None:
        yield "finding: the readings show nothing that begins when it says"
        return
    inside = [reading for run in event for reading in run.readings]
    pick = min if fact["side"] == "below" else max
    worst = pick(inside, key=lambda one: one.value)
    again = {
        "seconds": _seconds(event[-1].end - event[0].start),
        "seconds_beyond": _seconds(sum(run.end - run.start for run in event)),
        "runs": len(event),
        "readings": len(inside),
        "open_ended": not event[-1].complied,
    }
    for name, value in again.items():
        if fact[name] != value:
            yield f"finding, {name}: it says {fact[name]}, the readings give {value}"
    if _us(fact["ends_at"]) != event[-1].end:
        yield f"finding, ends_at: it says {fact['ends_at']}, the readings give another instant"
    if _us(fact["worst_at"]) != worst.at or not _near(worst.value, said):
        yield f"finding, worst: it says {fact['worst']}, the readings give {float(worst.value):g}"


def runs(found: list[Reading], fact: dict[str, Any]) -> list[Run]:
    """The runs beyond the limit. More than three intervals without a reading is a silence."""
    limit, below = Fraction(fact["limit"]), fact["side"] == "below"
    made: list[Run] = []
    open_run: list[Reading] = []
    silences, before = 0, None
    for one in found:
        silent = before is not None and one.at - before.at > SILENT_INTERVALS * before.interval
        beyond = one.value < limit if below else one.value > limit
        if open_run and (silent or not beyond):
            made.append(_ended(open_run, None if silent else one, silences))
            open_run = []
        silences += silent
        if beyond:
            open_run.append(one)
        before = one
    if open_run:
        made.append(_ended(open_run, None, silences))
    return made


def events(found: list[Run]) -> list[list[Run]]:
    """Runs joined where one begins less than the rejoin time after another, without a silence."""
    made: list[list[Run]] = []
    for run in found:
        last = made[-1][-1] if made else None
        near = last is not None and last.complied and run.start - last.end < REJOIN_US
        if last is not None and near and last.silence == run.silence:
            made[-1].append(run)
        else:
            made.append([run])
    return made


def _ended(readings: list[Reading], complying: Reading | None, silence: int) -> Run:
    last = readings[-1]
    end = last.at + last.interval if complying is None else complying.at
    return Run(readings[0].at, end, tuple(readings), complying is not None, silence)


def _near(worst: Fraction, said: dict[str, Any]) -> bool:
    """Whether a value is the printed one, which is rounded to the channel's resolution."""
    step = Fraction(said["readings"]["resolution"])
    step *= abs(Fraction(said["readings"]["to_the_limits_unit"]["factor"]))
    return abs(worst - Fraction(said["fact"]["worst"])) <= step


def _seconds(us: int) -> int:
    return round(us / SECOND_US)


def _us(at: str) -> int:
    """Microseconds since 1970, exactly."""
    moment = datetime.fromisoformat(at)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * SECOND_US + moment.microsecond


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
