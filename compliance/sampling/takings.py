"""One row's sample: its label, place, time and type; and the civil day a sample belongs to."""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from compliance.errors import InputError
from compliance.model.faults import brief
from compliance.model.periods import add_months, local_day
from compliance.model.samples import Sample, SampleType, TakenBy
from compliance.sampling.dates import REPAIR, Moment, moment, zone_named
from compliance.sampling.headings import Field
from compliance.sampling.sheets import Line, RowFault, Table, ask

OLD_YEARS = 10
LONGEST_COMPOSITE = timedelta(days=92)
"""A quarter: nobody composites for longer, and each day of it is compared."""
_QUALITY_CONTROL = ("blank", "spike", "matrix", "calibration", "control sample", "lab control")
_TAKERS = {
    "city": TakenBy.CITY,
    "director": TakenBy.CITY,
    "control authority": TakenBy.CONTROL_AUTHORITY,
    "industrial user": TakenBy.INDUSTRIAL_USER,
}


def sample(table: Table, line: Line, notes: list[str]) -> Sample:
    """The sample a row belongs to; what a person should know of it is added to ``notes``.

    Raises: RowFault.
    """
    starts = _when(table, line, fields=(Field.START, Field.START_TIME, Field.ZONE))
    end_zone = Field.END_ZONE if table.cell(line, Field.END_ZONE) else Field.ZONE
    ends = _when(table, line, fields=(Field.END, Field.END_TIME, end_zone))
    if starts is None and ends is None:
        starts = ends = _when(table, line, fields=(Field.COLLECTED, Field.TIME, Field.ZONE))
    starts, ends = starts or ends, ends or starts
    _must_follow(table, line, starts, ends)
    _must_be_past(table, line, ends, notes)
    for one in dict.fromkeys((starts, ends)):
        if one and one.note:
            notes.append(one.note)
    kind, replicate = _type(table.cell(line, Field.TYPE))
    label = table.name_in(line, Field.SAMPLE)
    if replicate:
        notes.append("a field replicate: kept beside its routine sample")
        label = f"{label or ''} replicate".strip()
    return Sample(
        label=label,
        point=table.name_in(line, Field.POINT),
        sampled_from=starts.at if starts else None,
        sampled_to=ends.at if ends else None,
        sample_type=kind,
        taken_by=_TAKERS.get(table.cell(line, Field.TAKEN_BY).casefold(), TakenBy.INDUSTRIAL_USER),
        laboratory=table.name_in(line, Field.LAB),
        stated_on=ends.stated_on if ends else None,
    )


def _type(text: str) -> tuple[SampleType | None, bool]:
    """Grab or composite, and whether it is a field replicate."""
    words = text.casefold()
    if any(word in words for word in _QUALITY_CONTROL):
        raise RowFault(
            Field.TYPE,
            text,
            expected="a sample of the discharge: quality control is never judged",
            repair="leave it in the laboratory's report",
        )
    replicate = "replicate" in words or "duplicate" in words
    if "grab" in words or words == "g":
        return SampleType.GRAB, replicate
    is_composite = "comp" in words or words == "c"
    return (SampleType.COMPOSITE if is_composite else None), replicate


def _when(table: Table, line: Line, *, fields: tuple[Field, Field, Field]) -> Moment | None:
    day_field, time_field, zone_field = fields
    text, clock = table.cell(line, day_field), table.cell(line, time_field)
    if not text and not clock:
        return None
    zone = _zone(table, line, zone_field)
    found = " ".join(filter(None, (text, clock)))
    reads = table.orders[day_field]
    return ask(day_field, found, lambda: moment(text, clock, zone=zone, reads=reads), repair=REPAIR)


def _zone(table: Table, line: Line, field: Field) -> tzinfo:
    name = table.cell(line, field)
    if not name:
        return table.zone
    return ask(field, name, lambda: zone_named(name), repair="name the zone or leave it blank")


def _must_follow(table: Table, line: Line, starts: Moment | None, ends: Moment | None) -> None:
    if starts is None or ends is None:
        return
    if _first(starts.at, table.zone) > _first(ends.at, table.zone):
        raise RowFault(
            Field.END,
            table.cell(line, Field.END),
            expected=f"an end not before the start, {starts.at.isoformat()}",
            repair="correct one of the two",
        )
    if _first(ends.at, table.zone) - _first(starts.at, table.zone) > LONGEST_COMPOSITE:
        raise RowFault(
            Field.END,
            table.cell(line, Field.END),
            expected=f"an end within {LONGEST_COMPOSITE.days} days of {starts.at.isoformat()}",
            repair="correct one of the two",
        )


def _must_be_past(table: Table, line: Line, ends: Moment | None, notes: list[str]) -> None:
    """A sample is taken before the laboratory receives it, and its result before we do."""
    if ends is None:
        return
    for received in (_at_laboratory(table, line, notes), table.received_at):
        if received is not None and _is_after(ends.at, received, zone=table.zone):
            _refuse_future(table, line, ends, received)


def _at_laboratory(table: Table, line: Line, notes: list[str]) -> datetime | date | None:
    """When the laboratory received it; what cannot be read of that costs no result."""
    try:
        found = _when(table, line, fields=(Field.RECEIVED, Field.RECEIVED_TIME, Field.ZONE))
    except RowFault as fault:
        notes.append(f"the day of receipt {brief(fault.found)!r} is not understood: not compared")
        return None
    return found.at if found else None


def _is_after(taken: datetime | date, received: datetime | date, *, zone: tzinfo) -> bool:
    """By the clock where both have a time, else by the civil day."""
    if isinstance(taken, datetime) and isinstance(received, datetime):
        return taken > received
    days = [_first(at, zone).astimezone(zone).date() for at in (taken, received)]
    return days[0] > days[1]


def _refuse_future(table: Table, line: Line, ends: Moment, received: datetime | date) -> None:
    field = next(
        (field for field in (Field.END, Field.START, Field.COLLECTED) if table.cell(line, field)),
        Field.TIME,
    )
    raise RowFault(
        field,
        table.cell(line, field) or ends.at.isoformat(),
        expected=f"a sample taken before it was received, {_shown(received, table.zone)}",
        repair="correct the date",
    )


def _shown(at: datetime | date, zone: tzinfo) -> str:
    if isinstance(at, datetime):
        return at.astimezone(zone).isoformat(timespec="minutes")
    return at.isoformat()


def is_old(of: Sample, *, received_at: datetime) -> bool:
    """Whether a sample was taken more than ten years before it was received."""
    taken = of.sampled_to
    if taken is None:
        return False
    day = taken.date() if isinstance(taken, datetime) else taken
    return day < add_months(received_at.date(), -12 * OLD_YEARS)


def _first(at: datetime | date, zone: tzinfo) -> datetime:
    """A sortable instant: of a date, its start."""
    if isinstance(at, datetime):
        return at
    return datetime(at.year, at.month, at.day, tzinfo=zone)


def civil_day(of: Sample, zone: ZoneInfo) -> date:
    """The day at the plant that a sample belongs to, and so its period and its rate.

    A composite belongs to the day that holds the greater part of its time, a tie to the earlier;
    a grab written 24:00 to the day it was written under.
    Raises: InputError when the sample has no date.
    """
    starts, ends = of.sampled_from, of.sampled_to
    if starts is None or ends is None:
        raise InputError(f"sample {of.label!r} has no date; expected one: {REPAIR}")
    if not isinstance(starts, datetime) or not isinstance(ends, datetime):
        return starts.astimezone(zone).date() if isinstance(starts, datetime) else starts
    first, last = starts.astimezone(zone).date(), ends.astimezone(zone).date()
    if starts == ends:
        return of.stated_on or first
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return max(days, key=lambda day: (_share(starts, ends, day=day, zone=zone), -day.toordinal()))


def _share(starts: datetime, ends: datetime, *, day: date, zone: ZoneInfo) -> timedelta:
    window = local_day(day, zone)
    return max(min(ends, window.end) - max(starts, window.start), timedelta(0))
