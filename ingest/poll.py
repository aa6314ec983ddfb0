"""One task per gateway: at each slot it asks every unit, and what fails becomes a flagged gap."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence

import structlog

from compliance.errors import StorageError
from compliance.model.periods import from_us
from compliance.model.readings import Quality, Reading
from compliance.model.sites import Gateway
from ingest.client import Link
from ingest.errors import LinkError, NoAnswer, NotConnected, Refused
from ingest.schedule import Round, Schedule
from ingest.unit import UNIT_DOWN, Unit

Sink = Callable[[Sequence[Reading]], None]

RECONNECT_SECONDS = 5.0
UNIT_AWAY_SECONDS = 30.0
log = structlog.get_logger("ingest")


class Watch:
    """What is known of one gateway between its rounds.

    sink: takes readings, raises StorageError when it cannot. A unit that does not answer is asked
    last and more and more rarely, so that it costs the others nothing; its slots are flagged all
    the same. Nothing is logged but a turn of state.
    """

    def __init__(self, gateway: Gateway, units: Sequence[Unit], sink: Sink) -> None:
        self.gateway, self._sink = gateway, sink
        self.intervals = sorted({s.channel.interval_ms for u in units for s in u.signals})
        self._link = Link(gateway.host, gateway.port, timeout_seconds(self.intervals))
        self._away = {unit.id: _Away() for unit in units}
        self._units = tuple(units)
        self._reconnect = _Away()
        self._probed = False  # whether any unit was asked in this round
        self._states: dict[str, str] = {}

    @property
    def faults(self) -> dict[str, str]:
        """What does not work at the moment, and why."""
        return {what: state for what, state in self._states.items() if state}

    async def run(self) -> None:
        """Poll until cancelled."""
        schedule = Schedule(self.intervals, now=_now_ms())
        try:
            while self.intervals:
                await asyncio.sleep(max(0, schedule.next_at() - _now_ms()) / 1000)
                for due in schedule.due(_now_ms()):
                    await self.round(due)
        finally:
            self._link.close()

    async def round(self, due: Round) -> None:
        """Ask every unit for one slot. Those that answered last time come first."""
        for slot in due.skipped:
            self._deliver(self._unread(due.interval, slot))
        self._probed = False
        for unit in sorted(self._units, key=lambda u: self._away[u.id].failures):
            await self._ask(unit, due)

    async def _ask(self, unit: Unit, due: Round) -> None:
        signals = [s for s in unit.signals if s.channel.interval_ms == due.interval]
        if not signals:
            return
        asked_at = _now_ms()
        slot, offset_ms = from_us(due.slot * 1000), min(asked_at - due.slot, 2**31 - 1)
        error = await self._connected() or self._left_alone(unit)
        if error is not None:
            self._deliver([s.gap(slot, error.quality, offset_ms=offset_ms) for s in signals])
            return
        self._probed = True
        answers = await unit.answers(self._link, signals, now=time.monotonic())
        self._learn(unit, list(answers.values()), due.interval)
        self._deliver(unit.readings(signals, answers, slot=slot, offset_ms=offset_ms))

    async def _connected(self) -> LinkError | None:
        """Why there is no connection, after trying for one unless that is too soon."""
        if self._link.connected:
            return None
        error = self._reconnect.waiting()
        if error is not None:
            return error
        try:
            await self._link.connect()
        except NotConnected as failed:
            self._reconnect.failed(failed, first=0.25, most=RECONNECT_SECONDS)
            self._turn("gateway", str(failed))
            return failed
        self._reconnect.answered()
        self._turn("gateway", "")
        return None

    def _left_alone(self, unit: Unit) -> LinkError | None:
        """Why a unit is not asked now: it did not answer of late, and the others come first.

        Where all are silent the gateway itself is away: one of them is asked at each slot, the one
        asked least, so that its return is seen at once and costs one silence at most.
        """
        away = self._away[unit.id]
        if all(each.failures for each in self._away.values()):
            return away.error if self._probed else None
        return away.waiting()

    def _learn(self, unit: Unit, answers: Sequence[object], interval_ms: int) -> None:
        errors = [answer for answer in answers if isinstance(answer, LinkError)]
        silent = next((error for error in errors if _is_away(error)), None)
        if silent is None:
            self._away[unit.id].answered()
        else:
            self._away[unit.id].failed(silent, first=interval_ms / 1000, most=UNIT_AWAY_SECONDS)
        self._turn(f"unit {unit.id}", str(errors[0]) if errors else "")

    def _unread(self, interval: int, slot: int) -> list[Reading]:
        return [
            signal.gap(from_us(slot * 1000), Quality.NOT_READ)
            for unit in self._units
            for signal in unit.signals
            if signal.channel.interval_ms == interval
        ]

    def _deliver(self, readings: Sequence[Reading]) -> None:
        try:
            self._sink(readings)
        except StorageError as error:
            self._turn("spool", str(error))
        else:
            self._turn("spool", "")

    def _turn(self, what: str, state: str) -> None:
        """Log a state, when it is another than before."""
        if self._states.get(what, "") != state:
            log.warning(what, gateway=self.gateway.name, state=state or "works again")
        self._states[what] = state


class _Away:
    """Something that did not answer: how often in a row, and until when it is left alone."""

    def __init__(self) -> None:
        self.failures = 0
        self._until = 0.0
        self.error: LinkError | None = None

    def waiting(self) -> LinkError | None:
        """The last error, while it is too early to ask again."""
        return self.error if time.monotonic() < self._until else None

    def failed(self, error: LinkError, *, first: float, most: float) -> None:
        """Wait longer with each failure but the first, up to ``most`` seconds, with jitter."""
        delay = min(most, first * 2.0 ** min(self.failures - 1, 30)) if self.failures else 0.0
        self.failures += 1
        self.error = error
        self._until = time.monotonic() + delay * random.uniform(0.5, 1.0)  # noqa: S311 - jitter

    def answered(self) -> None:
        """It is back."""
        self.failures, self._until, self.error = 0, 0.0, None


def timeout_seconds(intervals_ms: Sequence[int]) -> float:
    """How long an answer may take: four tenths of the shortest interval, from 0.3 to 3 s."""
    return min(3.0, max(0.3, 0.4 * min(intervals_ms, default=1000) / 1000))


def _is_away(error: LinkError) -> bool:
    if isinstance(error, Refused):
        return error.code in UNIT_DOWN
    return isinstance(error, NoAnswer | NotConnected)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
