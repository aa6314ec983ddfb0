"""Forms as people fill them in: what they gave, and what is wrong with which field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest

from app.moments import ComesTwice, at_plant, past, typed
from compliance.enforcing.decisions import SHORTEST_REASON
from compliance.errors import InputError
from compliance.jobs.determine import Paper, Wanted, check
from compliance.model.calibrations import Standard, refusal, standard
from compliance.model.determinations import Verdict
from compliance.model.parameters import Parameter
from compliance.model.windows import Declared, WindowKind
from compliance.records.instruments import Instrument
from compliance.records.places import Signal

LINES = 3
"""A calibration sheet offers so many lines: three buffers are usual."""
MOST_LINES = 12
LONGEST_NAME = 200
LONGEST_WINDOW = timedelta(days=366)
"""How long a window may last, and how far ahead it may begin: after that it is declared anew."""


@dataclass(kw_only=True)
class _Form:
    """faults: a sentence for each field that cannot be used; twice: fields of an hour that comes
    twice."""

    faults: dict[str, str] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)

    def instant(self, name: str, written: str, zone: str, *, fold: str) -> datetime | None:
        """A field's instant; None, with a fault, where it is none."""
        try:
            return at_plant(written, zone, fold=fold)
        except InputError as error:
            self.faults[name] = str(error)
            if isinstance(error, ComesTwice):
                self.twice.add(name)
            return None


@dataclass(kw_only=True)
class WindowForm(_Form):
    """A window as it was typed. over: instrument, point, or the number of a channel."""

    over: str = "instrument"
    kind: str = ""
    since: str = ""
    since_fold: str = ""
    until: str = ""
    until_fold: str = ""
    reason: str = ""

    @classmethod
    def blank(cls, at: datetime, zone: str) -> WindowForm:
        """A form that begins now and is open."""
        return cls(since=typed(at, zone), kind=WindowKind.MAINTENANCE.value)

    def window(
        self, device: Instrument, signals: Sequence[Signal], *, by: str, now: datetime
    ) -> Declared | None:
        """The window it describes, or None with the faults.

        signals: every channel at the instrument's point.
        """
        channels = self._channels(device, signals)
        if self.kind not in set(WindowKind):
            self.faults["kind"] = "Choose what was done."
        since = self.instant("since", self.since, device.zone, fold=self.since_fold)
        until = None
        if self.until.strip():
            until = self.instant("until", self.until, device.zone, fold=self.until_fold)
        if since is not None and until is not None and until <= since:
            self.faults["until"] = "It ends before it begins; write a later time, or leave it open."
        if since is not None:
            self._refuse_over_a_year(since, until, now=now)
        reason = self.reason.strip()
        if len(reason) < SHORTEST_REASON:
            self.faults["reason"] = (
                f"Write at least {SHORTEST_REASON} characters: it is read at a hearing."
            )
        if self.faults or since is None:
            return None
        return Declared(
            number=0,
            channels=channels,
            since=since,
            until=until,
            kind=WindowKind(self.kind),
            reason=reason,
            declared_by=by,
            declared_at=now,
        )

    def _refuse_over_a_year(
        self, since: datetime, until: datetime | None, *, now: datetime
    ) -> None:
        days = LONGEST_WINDOW.days
        if since > now + LONGEST_WINDOW:
            self.faults["since"] = (
                f"It begins more than {days} days ahead; declare it nearer to it."
            )
        if until is not None and until - since > LONGEST_WINDOW:
            self.faults["until"] = (
                f"It lasts over {days} days; end it earlier, and declare the next."
            )

    def _channels(self, device: Instrument, signals: Sequence[Signal]) -> tuple[int, ...]:
        if self.over == "point":
            return tuple(one.channel_id for one in signals)
        mine = [one.channel_id for one in signals if one.instrument_id == device.id]
        if self.over == "instrument" and mine:
            return tuple(mine)
        chosen = tuple(one for one in mine if str(one) == self.over)
        if not chosen:
            self.faults["over"] = "Choose the instrument, its point, or one of its channels."
        return chosen


@dataclass(kw_only=True)
class DeterminationForm(_Form):
    """A determination as it was typed. channel: its number."""

    channel: str = ""
    verdict: str = ""
    since: str = ""
    since_fold: str = ""
    until: str = ""
    until_fold: str = ""
    reason: str = ""

    def wanted(
        self, signals: Sequence[Signal], *, evidence: Paper | None, now: datetime
    ) -> Wanted | None:
        """What it says, or None with the faults. signals: every channel of the point."""
        chosen = next((one for one in signals if str(one.channel_id) == self.channel), None)
        if chosen is None:
            self.faults["channel"] = "Choose the channel whose readings you mean."
        if self.verdict not in set(Verdict):
            self.faults["verdict"] = "Choose what the readings are."
        zone = signals[0].zone
        since = self.instant("since", self.since, zone, fold=self.since_fold)
        until = self.instant("until", self.until, zone, fold=self.until_fold)
        reason = self.reason.strip()
        if len(reason) < SHORTEST_REASON:
            self.faults["reason"] = (
                f"Write at least {SHORTEST_REASON} characters: it is read at a hearing."
            )
        if self.faults or chosen is None or since is None or until is None:
            return None
        wanted = Wanted(
            channel_id=chosen.channel_id,
            since=since,
            until=until,
            verdict=Verdict(self.verdict),
            reason=reason,
            evidence=evidence,
        )
        try:
            check(wanted, now=now)
        except InputError as error:
            self.faults["until"] = str(error)
            return None
        return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A calibration that may be recorded."""

    channel_id: int
    at: datetime
    by: str
    standards: tuple[Standard, ...]


@dataclass(kw_only=True)
class CalibrationForm(_Form):
    """A calibration as it was typed. lines: standard, before, after."""

    channel: str = ""
    when: str = ""
    when_fold: str = ""
    by: str = ""
    lines: list[tuple[str, str, str]] = field(default_factory=lambda: [("", "", "")] * LINES)

    @classmethod
    def blank(cls, at: datetime, zone: str) -> CalibrationForm:
        """A form for one that was made now."""
        return cls(when=typed(at, zone))

    @classmethod
    def of(
        cls,
        *,
        channel: str,
        when: str,
        when_fold: str,
        by: str,
        sheet: tuple[Sequence[str], Sequence[str], Sequence[str]],
    ) -> CalibrationForm:
        """What was sent. sheet: the columns standard, before and after."""
        own, before, after = (column[:MOST_LINES] for column in sheet)
        lines = list(zip_longest(own, before, after, fillvalue=""))
        lines += [("", "", "")] * (LINES - len(lines))
        return cls(channel=channel, when=when, when_fold=when_fold, by=by, lines=lines)

    def sheet(self, signals: Sequence[Signal], *, zone: str, now: datetime) -> Sheet | None:
        """The calibration it describes, or None with the faults."""
        chosen = next((one for one in signals if str(one.channel_id) == self.channel), None)
        if chosen is None:
            self.faults["channel"] = "Choose the channel that was calibrated."
        at = self.instant("when", self.when, zone, fold=self.when_fold)
        if at is not None:
            try:
                past(at, now=now)
            except InputError as error:
                self.faults["when"] = str(error)
        if not 0 < len(self.by.strip()) <= LONGEST_NAME:
            self.faults["by"] = f"Write who calibrated it, in up to {LONGEST_NAME} letters."
        standards = self._standards()
        if chosen is not None and (why := refusal(standards, Parameter(chosen.parameter))):
            self.faults.setdefault("line-1", why)
        if self.faults or chosen is None or at is None:
            return None
        return Sheet(channel_id=chosen.channel_id, at=at, by=self.by.strip(), standards=standards)

    def _standards(self) -> tuple[Standard, ...]:
        found = []
        for number, (own, before, after) in enumerate(self.lines, start=1):
            try:
                line = standard(number, of=own, before=before, after=after)
            except InputError as error:
                text = str(error)
                self.faults[f"line-{number}"] = f"{text[:1].upper()}{text[1:]}."
            else:
                found += [line] if line else []
        if not found and not any(name.startswith("line-") for name in self.faults):
            self.faults["line-1"] = "Write at least one standard with what was read of it."
        return tuple(found)
