"""An instrument's registers beside its display, and the confirmation that lets its point count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from compliance.errors import Refused
from compliance.jobs.commission import Act, BadField, Typed, day_of, number_of
from compliance.model.commissioning import Agreement, Candidate, compare, read_by, settled
from compliance.model.parameters import PHYSICAL_RANGE
from compliance.model.readings import Grade
from compliance.model.register_map import Entry, Order, RegisterMap, unconfirmed
from compliance.model.sites import Channel
from compliance.records import audit, comparisons, counting, library, setting_up, sites
from compliance.records import tables as t
from compliance.records.comparisons import Comparison
from compliance.records.questions import Asks, Question
from compliance.records.setting_up import SetUp

FRESH = timedelta(minutes=5)
"""A display is compared with what was read so short a time ago."""
CURRENT = timedelta(minutes=15)
"""An instrument is confirmed by a comparison of so short a time ago."""
LONGEST_DAYS = 3650
_PAPERS = ("location", "frequency", "approved_by", "document")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One channel beside the display."""

    channel: Channel
    entry: Entry
    display: Decimal | None
    agreement: Agreement | None
    words: tuple[str, ...]

    @property
    def must_be_compared(self) -> bool:
        """Whether its map leaves something open that the display alone can settle."""
        return self.entry.verify or _is_open(self.entry)

    @property
    def problem(self) -> str:
        """Why it cannot be confirmed by this comparison; empty where it can."""
        if self.agreement is not None:
            return "" if self.agreement.orders else f"{self.entry.name}: {self.agreement.says}"
        if self.must_be_compared:
            return f"{self.entry.name}: type what the display shows; its map has not settled it"
        return ""


def candidates(
    entry: Entry, channel: Channel, values: Sequence[Mapping[str, Any]]
) -> list[Candidate]:
    """What an answer gives for an entry, a share as the display shows it: in the channel's span."""
    found = []
    for one in values:
        value = None if one["value"] is None else Decimal(one["value"])
        if entry.share and value is not None:
            low, high = (Decimal(str(end or 0)) for end in (channel.span_low, channel.span_high))
            value = low + value / 100 * (high - low)
        order = Order(one["order"]) if one["order"] else None
        usable = one.get("quality") == Grade.GOOD.value and _is_possible(value, channel)
        found.append(Candidate(order=order, value=value, is_usable=usable))
    return found


def _is_possible(value: Decimal | None, channel: Channel) -> bool:
    """Whether physics allows it; a number of another unit than the parameter's own passes."""
    low, high = PHYSICAL_RANGE.get(channel.parameter, (None, None))
    return value is not None and (low is None or high is None or low <= value <= high)


def compare_with_display(
    db: Connection, act: Act, of: SetUp, question: Question, displays: Typed
) -> Comparison:
    """Compare what was read with what the display showed, by entry; kept whatever comes of it.

    Where all agree in one order that the map leaves open, the instrument is read in it from now on
    if nothing of it counts yet; else from its next confirmation on, and until then nothing changes.
    Raises: BadField for what is no number, Refused for an answer that is not of this instrument.
    """
    _check_answer(of, question, act.at)
    found = library.one(db, of.instrument.map_name).map
    answers = {one["name"]: one for one in (question.answer or {}).get("entries", ())}
    lines = [
        _line(found, channel, answers.get(channel.entry, {}), displays) for channel in of.channels
    ]
    order, problem = _verdict(lines)
    stands_still = of.instrument.confirmed_by or _count(db, of, act.at)
    if order is not None and not stands_still:
        setting_up.set_map(db, of.instrument.id, map_name=found.name, order=order.value)
    kept = order or (Order(of.instrument.order) if of.instrument.order else None)
    made = comparisons.add(
        db,
        instrument_id=of.instrument.id,
        question_id=question.id,
        by=act.by,
        order=None if kept is None else kept.value,
        lines={str(one.channel.id): _plain(found, one, kept) for one in lines},
        problem=problem,
    )
    detail = {"agrees": made.agrees, "order": made.order, "problem": problem}
    subject = f"instrument {of.instrument.id}"
    audit.note(db, by=act.by, act="compare with the display", subject=subject, detail=detail)
    return made


def _check_answer(of: SetUp, question: Question, at: datetime) -> None:
    i, g = of.instrument, question.gateway
    same = (g.host, g.port) == (of.gateway.host, of.gateway.port)
    if question.asks is not Asks.READ or not same or question.units[0] != i.unit_id:
        raise Refused("These values are another instrument's; read this one, then compare.")
    if question.answer is None or question.answered_at is None or question.map_name != i.map_name:
        raise Refused("Nothing was read by this map yet; read the instrument, then compare.")
    if at - question.answered_at > FRESH:
        raise Refused("These values are over five minutes old; read again while you look at it.")


def _line(found: RegisterMap, channel: Channel, answer: Mapping[str, Any], displays: Typed) -> Line:
    entry = found.entries[channel.entry]
    typed = displays.get(f"display_{channel.id}", "").strip()
    display = number_of(typed) if typed else None
    if typed and display is None:
        raise BadField(f"display_{channel.id}", f"{typed[:40]!r} is no number; type it as 7.02")
    agreement = None
    if display is not None:
        said = candidates(entry, channel, answer.get("values", ()))
        resolution = Decimal(channel.resolution)
        agreement = compare(display, said, resolution=_own(resolution, entry, channel))
        if not said:
            agreement = replace(agreement, says=f"nothing was read: {answer.get('problem', '')}")
    words = tuple(answer.get("words", ()))
    return Line(channel=channel, entry=entry, display=display, agreement=agreement, words=words)


def _own(resolution: Decimal, entry: Entry, channel: Channel) -> Decimal:
    """The channel's step where the display shows the channel's unit; else the display's alone."""
    is_same = entry.unit is None or entry.unit is channel.unit
    return resolution if is_same else Decimal(0)


def _verdict(lines: Sequence[Line]) -> tuple[Order | None, str]:
    """The order that is settled, and in one sentence why nothing may be confirmed yet."""
    if not lines:
        return None, "nothing is read from this instrument yet; choose what is, then compare"
    problem = next((one.problem for one in lines if one.problem), "")
    if problem:
        return None, problem
    compared = {one.entry.name: one.agreement for one in lines if one.agreement is not None}
    if not compared:
        return None, "nothing was compared; type what the display shows for one channel at least"
    left = [one.entry.name for one in lines if _is_open(one.entry)]
    return settled({name: compared[name] for name in left})


def _is_open(entry: Entry) -> bool:
    return entry.needs_order and entry.order is None


def _plain(found: RegisterMap, line: Line, order: Order | None) -> dict[str, Any]:
    return {
        "entry": line.entry.name,
        "words": list(line.words),
        "display": None if line.display is None else str(line.display),
        "says": "not compared" if line.agreement is None else line.agreement.says,
        "agrees": not line.problem,
        "read_by": way(found, line.channel, order),
    }


def way(found: RegisterMap, channel: Channel, order: Order | None) -> dict[str, str]:
    """All that decides which number a channel's registers are."""
    low, high = channel.span_low, channel.span_high
    span = None if low is None or high is None else (str(low), str(high))
    return read_by(
        found,
        channel.entry,
        order=order,
        span=span,
        unit=channel.unit.value,
        step=channel.resolution,
    )


def _count(db: Connection, of: SetUp, at: datetime) -> set[int]:
    """The channels of an instrument that count."""
    return counting.counts(db, [channel.id for channel in of.channels], at=at)


def stands(db: Connection, of: SetUp, made: Comparison | None) -> str:
    """Why an instrument may not be confirmed by its last comparison; empty where it may."""
    if made is None:
        return "nothing was compared with the display yet"
    if not made.agrees:
        return made.problem
    found = library.one(db, of.instrument.map_name).map
    order = Order(made.order) if made.order else None
    for channel in of.channels:
        line = made.lines.get(str(channel.id))
        if line is None or channel.entry not in found.entries:
            return f"{channel.entry} was not compared; compare again"
        if line["read_by"] != way(found, channel, order):
            return f"{channel.entry} is read otherwise than when it was compared; compare again"
        person = replace(
            of.instrument, order=made.order, confirmed_by=made.by, confirmed_at=made.at
        )
        if why := unconfirmed(found, found.entries[channel.entry], person):
            return why
    return "" if of.channels else "nothing is read from this instrument"


def confirm(db: Connection, act: Act, of: SetUp, typed: Typed) -> None:
    """Let the point count from now on, with the approval that says how it is measured.

    Raises: BadField for a paper that is missing, Refused where the comparison does not stand, is
    of long ago, or has confirmed it already.
    """
    made = comparisons.newest(db, of.instrument.id)
    problem = stands(db, of, made)
    if problem or made is None:
        raise Refused(f"Not confirmed: {problem}.")
    _check_news(db, of, made, act.at)
    papers = _papers(of, typed, today=act.at.astimezone(ZoneInfo(of.zone)).date())
    how, at = made.told(of), max(act.at, made.at)
    if made.order != of.instrument.order:
        why = f"now read in order {made.order}, before in {of.instrument.order or 'none'}"
        counting.end(db, [c.id for c in of.channels], by=act.by, why=why, at=at)
        setting_up.set_map(db, of.instrument.id, map_name=of.instrument.map_name, order=made.order)
    for channel in of.channels:
        sites.add_once(db, t.commissioning, {"channel_id": channel.id, **papers[channel.id]})
        counting.begin(
            db,
            channel.id,
            since=at,
            by=act.by,
            how=how,
            read_by=made.lines[str(channel.id)]["read_by"],
        )
    setting_up.confirm(db, of.instrument.id, by=act.by, at=at, how=how)
    approved = {c.entry: papers[c.id] for c in of.channels}
    detail = {"how": how, "counts_from": at, "approval": approved}
    subject = f"instrument {of.instrument.id}"
    audit.note(db, by=act.by, act="confirm an instrument", subject=subject, detail=detail)


def _check_news(db: Connection, of: SetUp, made: Comparison, at: datetime) -> None:
    """Refuse a comparison that has confirmed the instrument already, or that is of long ago."""
    i = of.instrument
    since = i.confirmed_at
    every = {channel.id for channel in of.channels}
    if since is not None and since >= made.at and _count(db, of, max(at, since)) == every:
        when = since.astimezone(ZoneInfo(of.zone)).strftime("%H:%M:%S on %-d %B %Y")
        raise Refused(
            f"Confirmed already by {i.confirmed_by} at {when}; "
            "to confirm it anew, read it and compare again."
        )
    if at - made.at > CURRENT:
        minutes = CURRENT // timedelta(minutes=1)
        raise Refused(
            f"Not confirmed: the comparison is over {minutes} minutes old; read it again and "
            "compare, then confirm."
        )


def _papers(of: SetUp, typed: Typed, *, today: date) -> dict[int, dict[str, Any]]:
    """The approval of each channel as it was typed. Raises: BadField."""
    common: dict[str, Any] = {}
    for field in _PAPERS:
        common[field] = typed.get(field, "").strip()
        if not common[field]:
            name = field.replace("_", " ")
            raise BadField(field, f"{name} is empty; it stands in the approval of the measurement")
    common["approved_on"] = day_of(typed, "approved_on", today=today)
    return {channel.id: common | _measured(channel, typed) for channel in of.channels}


def _measured(channel: Channel, typed: Typed) -> dict[str, Any]:
    method = typed.get(f"method_{channel.id}", "").strip()
    if not method:
        raise BadField(f"method_{channel.id}", f"method of {channel.entry} is empty")
    days = typed.get(f"days_{channel.id}", "").strip()
    if not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= LONGEST_DAYS):
        raise BadField(
            f"days_{channel.id}",
            f"days between calibrations of {channel.entry} are {days[:40]!r}; "
            f"expected a number from 1 to {LONGEST_DAYS}",
        )
    return {"method": method, "calibration_days": int(days)}
