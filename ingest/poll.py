"""One task per gateway: at each slot it asks every unit, and what fails becomes a flagged gap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from compliance.model.endpoints import endpoint
from compliance.model.readings import Quality
from compliance.model.sites import Gateway
from ingest.between import Between
from ingest.client import Link
from ingest.connection import Away, Connection
from ingest.errors import LinkError, Refused
from ingest.gather import Gather
from ingest.own_clock import Clock, OwnClock
from ingest.schedule import Round, Schedule
from ingest.tick import Blank
from ingest.unit import Ask, Said, Unit

RECONNECT_SECONDS = (0.5, 5.0)
"""The longest wait between two attempts to connect: the shortest interval, within these."""
UNIT_AWAY_SECONDS = 30.0
LOOK_SECONDS = 10.0
"""So often a sleeper looks whether the clock was set meanwhile."""
CLOCK_NEWS_SECONDS = 600.0
log = structlog.get_logger("ingest")


class Watch:
    """What is known of one gateway between its rounds.

    gather: takes what comes and makes readings of it. notice: told of what happened once, such as
    a clock that was set. A unit that does not answer is asked last and more and more
    rarely, so that it costs the others nothing; its slots are flagged all the same. Nothing is
    logged but a turn of state.
    Raises: InputError for a gateway whose transport cannot be meant.
    """

    def __init__(
        self,
        gateway: Gateway,
        units: Sequence[Unit],
        gather: Gather,
        *,
        clock: Clock | None = None,
        notice: Callable[[str], None] = lambda what: None,
    ) -> None:
        self.gateway, self._gather, self._notice = gateway, gather, notice
        self.intervals = sorted({interval for unit in units for interval in unit.asks})
        self._clock = clock or OwnClock()
        self._place = endpoint(gateway.host, gateway.port, gateway.transport)
        self._line = self._connection(units)
        self._away = {unit.id: Away(self._steady) for unit in units}
        self._units = tuple(units)
        self._turns = asyncio.Lock()
        self._schedule: Schedule | None = None
        self._probed = self._answered = self._away_probed = False  # in this round
        self._states: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._clock_set_at = 0.0

    def _connection(self, units: Sequence[Unit]) -> Connection:
        pause = max((unit.map.wire.pause_ms for unit in units), default=0) / 1000
        least, most = RECONNECT_SECONDS
        shortest = min(self.intervals, default=1000) / 1000
        return Connection(
            Link(self._place, timeout_seconds(self.intervals), pause=pause),
            steady=self._steady,
            most_seconds=min(most, max(least, shortest)),
            turned=lambda state: self._turn("gateway", state),
        )

    @property
    def faults(self) -> dict[str, str]:
        """What does not work at the moment, and why."""
        found = {what: state for what, state in self._states.items() if state}
        return found | ({"spool": self._gather.state} if self._gather.state else {})

    @property
    def thrown_away(self) -> dict[str, int]:
        """How many answers came too late, and how many were another unit's; none is left out."""
        link = self._line.link
        counts = {"late": link.late, "foreign": link.foreign}
        return {name: count for name, count in counts.items() if count}

    def close(self) -> None:
        """Give the line back; what came over it is handed on."""
        self._line.close()
        self._gather.flush()

    async def run(self) -> None:
        """Poll until cancelled; started again, it goes on where it was."""
        clock = self._clock
        if self._schedule is None and self.intervals:
            spread_by = self.gateway.name if self._place.spread else None
            self._schedule = Schedule(self.intervals, at=clock.now(), spread_by=spread_by)
        schedule = self._schedule
        try:
            while schedule is not None:
                _heed_cancellation()
                wait = (schedule.next_at() - clock.now().wall) / 1000
                await clock.sleep(min(max(0.0, wait), LOOK_SECONDS))
                rounds = schedule.due(clock.now())
                self._clock_was_set(schedule.stepped)
                for due in rounds:
                    await self.round(due)
        finally:
            self.close()

    @property
    def between(self) -> Between:
        """Its line, for who asks between two rounds."""
        return Between(self._line, self._turns, is_polled=bool(self.intervals))

    async def round(self, due: Round) -> None:
        """Ask every unit for one slot. Those that answered last time come first."""
        async with self._turns:
            await self._round(due)

    async def _round(self, due: Round) -> None:
        for slot in due.skipped:
            self._note_unread(due.interval, slot)
        self._probed = self._answered = self._away_probed = False
        for unit in self._in_order():
            ask = unit.asks.get(due.interval)
            if ask is not None:
                await self._ask(unit, ask, due)
        if self._probed and not self._answered:
            self._line.close()  # nobody behind it spoke: it may be half-open

    def _in_order(self) -> Sequence[Unit]:
        away = self._away
        if not any(each.failures for each in away.values()):
            return self._units
        return sorted(self._units, key=lambda unit: away[unit.id].failures)

    async def _ask(self, unit: Unit, ask: Ask, due: Round) -> None:
        clock = self._clock.now()
        slot_us = due.slot * 1000
        offset_ms = min(max(0, clock.steady - due.steady), 2**31 - 1)
        error = self._left_alone(unit) or await self._line.ready()
        if error is not None:
            self._gather.blank(Blank(ask.ids, slot_us, offset_ms, error.quality))
            return
        self._away_probed |= self._away[unit.id].failures > 0
        self._probed = True
        now = clock.steady / 1000
        said = await unit.round(self._line, ask, slot_us=slot_us, offset_ms=offset_ms, now=now)
        self._gather.row(ask.alike, said.row)
        self._learn(unit, said, due.interval)

    def _left_alone(self, unit: Unit) -> LinkError | None:
        """Why a unit is not asked now: it did not answer of late, and the others come first.

        One such unit is asked in a round at most, so that several cannot take it from the others.
        Where all are silent the gateway itself is away: one of them is asked at each slot, the one
        asked least, so that its return is seen at once and costs one silence at most.
        """
        away = self._away[unit.id]
        if not away.failures:
            return None
        if self._away_probed:
            return away.error
        if all(each.failures for each in self._away.values()):
            return away.error if self._probed else None
        return away.waiting()

    def _learn(self, unit: Unit, said: Said, interval_ms: int) -> None:
        if said.silent is None:
            self._away[unit.id].answered()
        else:
            self._away[unit.id].failed(
                said.silent, first=interval_ms / 1000, most=UNIT_AWAY_SECONDS
            )
        self._answered |= said.silent is None or said.is_heard
        if said.errors:
            self._turn(unit.name, str(said.errors[0]), kind=_kind(said.errors[0]))
        else:
            self._turn(
                unit.name, f"its values are old: {unit.stale}" if unit.stale else unit.undecoded
            )

    def _note_unread(self, interval: int, slot: int) -> None:
        for unit in self._units:
            if (ask := unit.asks.get(interval)) is not None:
                self._gather.blank(Blank(ask.ids, slot * 1000, 0, Quality.NOT_READ))

    def _clock_was_set(self, stepped_ms: int) -> None:
        """Say so, and for a while show it."""
        if stepped_ms:
            way = "forward" if stepped_ms > 0 else "back"
            what = f"this machine's clock was set {way} by {abs(stepped_ms) / 1000:.0f} s"
            self._clock_set_at = self._steady()
            self._turn("clock", what)
            self._notice(f"gateway {self.gateway.name}: {what}; its slots go on by the new time")
        elif self._steady() - self._clock_set_at > CLOCK_NEWS_SECONDS:
            self._turn("clock", "")

    def _turn(self, what: str, state: str, *, kind: str | None = None) -> None:
        """Log a state, when it is of another kind than before."""
        kind = state if kind is None else kind
        if self._kinds.get(what, "") != kind:
            log.warning(what, gateway=self.gateway.name, state=state or "works again")
        self._states[what], self._kinds[what] = state, kind

    def _steady(self) -> float:
        return self._clock.now().steady / 1000


def _heed_cancellation() -> None:
    """End a task that was asked to, though a wait below let the request pass.

    Up to Python 3.11 ``asyncio.wait_for`` does, where what it waits for is there just then.
    Raises: CancelledError.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _kind(error: LinkError) -> str:
    """What is the same of two errors whose sentences differ in a number."""
    return f"{type(error).__name__} {error.code if isinstance(error, Refused) else ''}"


def timeout_seconds(intervals_ms: Sequence[int]) -> float:
    """How long an answer may take: four tenths of the shortest interval, from 0.3 to 3 s."""
    return min(3.0, max(0.3, 0.4 * min(intervals_ms, default=1000) / 1000))
