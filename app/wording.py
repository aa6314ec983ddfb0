"""Findings in sentences, as people read them; a detection is never called a violation."""

from __future__ import annotations

from app.templating import duration, parameter_shown, unit_shown
from compliance.records.casefile import Case


def headline(case: Case) -> str:
    """What was found, in one line."""
    name = parameter_shown(case.parameter)
    unit = unit_shown(case.unit)
    limit = f"{case.limit} {unit}".strip()
    if case.kind == "possible_slug":
        return f"Possible slug: {name.lower()} above {limit} for {duration(case.seconds)}"
    if case.channel_id is None:
        return f"{name} {case.worst} {unit}, {case.side} {limit}"
    return f"{name} {case.side} {limit} for {duration(case.seconds)}"


def facts(case: Case) -> str:
    """The facts in one sentence, with what the reader must know to weigh them."""
    unit = unit_shown(case.unit)
    said = [f"worst {case.worst} {unit}".strip()]
    if case.channel_id is not None:
        said.append(f"{case.readings} readings beyond")
    if case.runs > 1:
        said.append(f"{case.runs} runs joined, {duration(case.seconds_beyond)} of it beyond")
    if case.open_ended:
        said.append("ended by silence")
    if not case.settled:
        said.append("still going on")
    if case.review:
        said.append("rests on a suspect reading: for review")
    return "; ".join(said)


def summary(name: str, found: tuple[Case, ...], completeness: str) -> str:
    """What a chart shows, in a sentence."""
    if not found:
        return f"{name}: no excursion in this time. {completeness}"
    longest = max(found, key=lambda one: one.seconds)
    several = "excursion" if len(found) == 1 else "excursions"
    worst = f"{longest.worst} {unit_shown(longest.unit)}".strip()
    return (
        f"{name}: {len(found)} {several} in this time, the longest {duration(longest.seconds)} "
        f"(worst {worst}). {completeness}"
    )
