"""Findings and channels in words, as people read them; a detection is never called a violation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from app.templating import duration, parameter_shown, unit_shown, within
from compliance.judging.refold import REJOIN_US
from compliance.records.casefile import Case, Screened
from compliance.records.places import Signal
from compliance.records.slugs import Event

REJOIN = timedelta(microseconds=REJOIN_US)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a channel is called, unlike every other of its point, and the address of its chart."""

    text: str
    address: str

    def under(self, page: str) -> str:
        """The address of a page of the point about this channel."""
        path, _, query = self.address.partition("?")
        return f"{path}/{page}?{query}"


def names(signals: Sequence[Signal]) -> dict[int, Name]:
    """Names by channel; where a point has two channels of a parameter, with the map's entry."""
    several = Counter((one.point_id, one.parameter) for one in signals)
    found = {}
    for one in signals:
        text = parameter_shown(one.parameter)
        address = f"/points/{one.point}?parameter={one.parameter}"
        if several[one.point_id, one.parameter] > 1:
            text = f"{text} · {one.entry.replace('_', ' ')}"
            address = f"{address}&entry={one.entry}"
        found[one.channel_id] = Name(text=text, address=address)
    return found


def headline(case: Case | Screened | Event) -> str:
    """What was found, in one line."""
    name = parameter_shown(case.parameter)
    unit = unit_shown(case.unit)
    limit = f"{case.limit} {unit}".strip()
    length = f"for {duration(case.seconds)}" + (" so far" if is_running(case) else "")
    if case.kind == "possible_slug" and case.parameter == "ph":
        return f"Possible slug: pH swung by more than {limit} {length}"
    if case.kind == "possible_slug":
        return f"Possible slug: {within(case.parameter)} above {limit} {length}"
    if case.channel_id is None:
        return f"{name} {case.worst} {unit}, {case.side} {limit}"
    return f"{name} {case.side} {limit} {length}"


def facts(case: Case | Screened) -> str:
    """The facts in one sentence, with what the reader must know to weigh them."""
    unit = unit_shown(case.unit)
    said = [f"worst {case.worst} {unit}".strip()]
    if case.channel_id is not None:
        said.append(f"{case.readings} {'reading' if case.readings == 1 else 'readings'} beyond")
    if case.runs > 1:
        said.append(f"{case.runs} runs joined, {duration(case.seconds_beyond)} of it beyond")
    if how := ending(case):
        said.append(how)
    if case.review:
        said.append("rests on a suspect reading: for review")
    return "; ".join(said)


def is_running(case: Case | Screened | Event) -> bool:
    """Whether it goes on: what has ended and may only be joined by another does not."""
    return not case.settled and case.open_ended and not _is_withdrawn(case)


def _is_withdrawn(case: Case | Screened | Event) -> bool:
    if isinstance(case, Event):
        return case.superseded_why is not None
    return isinstance(case, Case) and case.is_withdrawn


def ending(case: Case | Screened | Event) -> str:
    """How it ends, where that needs a word: not yet, not for good yet, or only as the record."""
    if is_running(case):
        return "still going on"
    if case.settled or _is_withdrawn(case):
        return "record ends (silence)" if case.open_ended else ""
    there = ZoneInfo(case.zone)
    ended, joins = (
        at.astimezone(there).strftime("%H:%M:%S") for at in (case.ends_at, case.ends_at + REJOIN)
    )
    return f"ended {ended}; within the limit since, may still join a new one until {joins}"


def summary(
    name: str,
    found: Sequence[Case | Screened],
    completeness: str,
    *,
    is_judged: bool = True,
    withdrawn: Sequence[Case] = (),
) -> str:
    """What a chart shows, in a sentence.

    withdrawn: findings that were withdrawn after a violation was opened from them.
    """
    for one in withdrawn:
        since = f"The finding that {one.violation} was opened from was withdrawn since."
        completeness = f"{completeness} {since}".strip()
    if not found and not is_judged:
        return f"{name}: no limit is in force, nothing is judged. {completeness}"
    if not found and withdrawn:
        return f"{name}: no finding of this time still stands. {completeness}"
    if not found:
        return f"{name}: no excursion in this time. {completeness}"
    longest = max(found, key=lambda one: one.seconds)
    several = "excursion" if len(found) == 1 else "excursions"
    worst = f"{longest.worst} {unit_shown(longest.unit)}".strip()
    return (
        f"{name}: {len(found)} {several} in this time, the longest {duration(longest.seconds)} "
        f"(worst {worst}). {completeness}"
    )
