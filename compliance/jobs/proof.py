"""Gathers the records beside a fact: readings, registers, calibrations, approval, register map."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.jobs import stack
from compliance.jobs.stack import Stack
from compliance.judging import evidence, laid
from compliance.model.findings import Exceedance
from compliance.model.flags import gathered
from compliance.model.periods import Window, day_of
from compliance.model.sites import Channel
from compliance.records import (
    corrections,
    counting,
    determinations,
    flags,
    readings,
    sites,
    windows,
)

NEAR = 3
"""A declared window so many intervals from a fact is named beside it: it may have cut it."""


def of_channel(  # noqa: PLR0913 - what evidence is gathered from
    db: Connection,
    fact: Exceedance,
    *,
    channel: Channel,
    place: sites.Place,
    release: str,
    bound: Stack | None = None,
) -> dict[str, Any]:
    """The evidence of a fact on a channel, as JSON. bound: what binds; asked for where None."""
    window = Window(start=fact.starts_at, end=max(fact.ends_at, fact.starts_at))
    held = Window(start=window.start, end=window.end + timedelta(microseconds=1))
    series = readings.usable(db, [channel.id], since=held.start, until=held.end)[channel.id]
    papers = sites.papers(db, channel.id)
    near = NEAR * timedelta(milliseconds=channel.interval_ms)
    found = evidence.document(
        fact,
        evidence.Evidence(
            channel=f"{place.point} {place.parameter.value} ({channel.entry})",
            window=window,
            readings=len(series),
            flagged=evidence.flagged(series),
            digest=readings.digest(db, channel.id, held.start, held.end),
            worst_words=_words(db, channel, papers, fact.worst_at),
            release=release,
            commissioning=_commissioning(papers.commissioning),
            calibration_before=_calibration(papers, before=fact.starts_at),
            calibration_after=_calibration(papers, after=fact.ends_at),
            zone=ZoneInfo(place.zone),
            register_map=_map(papers, counting.at(db, channel.id, fact.starts_at)),
            declared=windows.of(db, [channel.id], since=held.start - near, until=held.end + near),
            laid=laid_over(db, fact, channel=channel, zone=place.zone),
        ),
    )
    return {**found, "stack": _considered(bound or stack.of(db), fact, place)}


def _considered(bound: Stack, fact: Exceedance, place: sites.Place) -> list[dict[str, Any]]:
    """Every limit on a fact's parameter at its point, as it stood on the day it began."""
    rules = bound.on_parameter(
        place.rulebooks, place.industrial_user_id, place.point, fact.parameter
    )
    day = day_of(fact.starts_at, ZoneInfo(place.zone))
    return stack.considered(rules, day)


def laid_over(db: Connection, fact: Exceedance, *, channel: Channel, zone: str) -> dict[str, Any]:
    """Corrections, determinations and flags over the readings of a fact, and those next to it."""
    near = NEAR * timedelta(milliseconds=channel.interval_ms)
    start, end = fact.starts_at, fact.ends_at + timedelta(microseconds=1)
    found = flags.listed(db, channel.id, since=start, until=end)
    return laid.laid(
        corrections.of(db, [channel.id], since=start - near, until=end + near),
        determinations.of(db, [channel.id], since=start - near, until=end + near),
        gathered(found, within_us=NEAR * 1000 * channel.interval_ms),
        zone=ZoneInfo(zone),
    )


def of_calibration(papers: sites.Papers, *, over: Window, zone: str) -> dict[str, Any]:
    """What the evidence of a fact over a span says of calibrations, as the papers now stand."""
    measured = evidence.Measured(
        commissioning=_commissioning(papers.commissioning),
        calibration_before=_calibration(papers, before=over.start),
        calibration_after=_calibration(papers, after=over.end),
        zone=ZoneInfo(zone),
    )
    return evidence.calibration(measured, over.start)


def _words(db: Connection, channel: Channel, papers: sites.Papers, at: datetime) -> tuple[int, ...]:
    """The registers of a reading as they came; none where the source had none."""
    entries = (papers.register_map or {}).get("content", {}).get("entries", {})
    entry = entries.get(channel.entry)
    if entry is None:
        return ()
    return readings.words_at(db, channel.id, at, count=int(entry["words"])) or ()


def _commissioning(record: Mapping[str, Any] | None) -> evidence.Commissioning | None:
    if record is None:
        return None
    return evidence.Commissioning(
        method=record["method"],
        location=record["location"],
        frequency=record["frequency"],
        approved_by=record["approved_by"],
        approved_on=date.fromisoformat(record["approved_on"]),
        document=record["document"],
        calibration_days=record["calibration_days"],
    )


def _calibration(
    papers: sites.Papers, *, before: datetime | None = None, after: datetime | None = None
) -> evidence.Calibration | None:
    """The nearest calibration at or before an instant, or the nearest after one."""
    made = [(datetime.fromisoformat(c["calibrated_at"]), c) for c in papers.calibrations]
    if before is not None:
        near = [(at, c) for at, c in made if at <= before][-1:]
    else:
        near = [(at, c) for at, c in made if after is not None and at > after][:1]
    if not near:
        return None
    at, record = near[0]
    return evidence.Calibration(
        at=at,
        by=record["by"],
        standards=tuple((s["standard"], s["before"], s["after"]) for s in record["standards"]),
        drift=record["drift"],
    )


def _map(papers: sites.Papers, counts: counting.Record | None) -> evidence.MapRecord | None:
    """The map with the confirmation under which the point counted then, whatever came since."""
    if papers.register_map is None or papers.instrument is None:
        return None
    content = papers.register_map["content"]
    confirmed_at = papers.instrument["confirmed_at"]
    if counts is not None and counts.until is not None:
        confirmed_at = counts.since.isoformat()
    return evidence.MapRecord(
        name=papers.register_map["name"],
        sha256=papers.register_map["sha256"],
        verify_on_site=tuple(
            f"{name} (evidence: {entry['evidence']})"
            for name, entry in content["entries"].items()
            if entry["verify"]
        ),
        confirmed_by=counts.by if counts else papers.instrument["confirmed_by"],
        confirmed_at=datetime.fromisoformat(confirmed_at) if confirmed_at else None,
        counts_from=counts.since if counts else None,
        how=counts.how if counts else "",
    )
