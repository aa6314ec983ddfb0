"""The gateways that a worker polls at the moment, each by a task of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from compliance.errors import ComplianceError
from compliance.model.gaps import HANDED_OVER, SET_UP, SUSPENDED, WORKER_DOWN, Gap
from compliance.model.register_map import RegisterMap
from compliance.model.sites import Channel
from compliance.records.sites import GatewayPlan
from ingest.alike import Plans
from ingest.between import Between
from ingest.gather import Gather
from ingest.holding import Holding, Maps
from ingest.poll import Watch
from ingest.quota import DIAGNOSTIC
from ingest.spool import Spool
from ingest.unit import Unit

PAUSE_AFTER_FAULT_SECONDS = 1.0
log = structlog.get_logger("ingest")


@dataclass(slots=True, kw_only=True)
class _Polled:
    """A gateway with the task that polls it; both are None where its maps cannot be used."""

    plan: GatewayPlan
    watch: Watch | None = None
    maps: tuple[RegisterMap, ...] = ()
    task: asyncio.Task[None] | None = None
    faults: dict[str, str] = field(default_factory=dict)


class Shift:
    """What is polled, changed as the holding changes. All its methods are for one event loop.

    fault: told of what should not have happened.
    """

    def __init__(self, spool: Spool, known: Maps, *, fault: Callable[[str], None]) -> None:
        self._spool, self._maps, self._fault = spool, known, fault
        self._gather, self._plans = Gather(spool.put, fault=fault), Plans()
        self._polled: dict[int, _Polled] = {}
        self._is_first = True

    @property
    def gateways(self) -> int:
        """How many are polled."""
        return sum(one.task is not None for one in self._polled.values())

    @property
    def states(self) -> dict[str, dict[str, str]]:
        """What does not work at the moment, by gateway."""
        found = {}
        for one in self._polled.values():
            faults = {**one.faults, **(one.watch.faults if one.watch else {})}
            if faults:
                found[one.plan.gateway.name] = faults
        return found

    @property
    def thrown_away(self) -> dict[str, dict[str, int]]:
        """Answers that were no answers to what was asked, by gateway."""
        found = {}
        for one in self._polled.values():
            if one.watch is not None and (counts := one.watch.thrown_away):
                found[one.plan.gateway.name] = counts
        return found

    async def take(self, holding: Holding) -> None:
        """Poll just what is held: stop what is not, start what is new, restart what has changed."""
        wanted = {plan.gateway.id: plan for plan in holding.plans}
        changed = {
            key
            for key, one in self._polled.items()
            if key in wanted and (one.plan != wanted[key] or one.maps != self._read(one.plan))
        }
        await self._stop([key for key in self._polled if key not in wanted or key in changed])
        self._spool.thinner.diagnostic = frozenset(
            c.id for c in _channels(*wanted.values()) if c.parameter in DIAGNOSTIC
        )
        for key, plan in wanted.items():
            if key not in self._polled:
                cause = HANDED_OVER
                if key in changed:
                    cause = SET_UP
                elif self._is_first or key in holding.claimed:
                    cause = WORKER_DOWN
                self._start(plan, cause=cause, last=holding.last)
        self._is_first = False

    async def drop(self, count: int) -> list[int]:
        """Stop polling so many gateways; their ids. Those polled for the shortest time go first."""
        keys = list(self._polled)[::-1][:count]
        await self._stop(keys)
        return keys

    async def end(self) -> None:
        """Stop polling."""
        await self._stop(list(self._polled))

    def held_up(self, *, since_us: int, until_us: int) -> None:
        """Note that nothing was polled for a while although every task lives."""
        channels = tuple(c.id for c in _channels(*(one.plan for one in self._polled.values())))
        if channels:
            gap = Gap(channels=channels, since_us=since_us, until_us=until_us, cause=SUSPENDED)
            self._spool.note([gap])

    async def _stop(self, keys: list[int]) -> None:
        tasks = [one.task for key in keys if (one := self._polled.pop(key)).task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._gather.flush()

    def line(self, gateway: int) -> Between | None:
        """The line over which a gateway is polled, by its id; None where none is kept here."""
        one = self._polled.get(gateway)
        return None if one is None or one.watch is None else one.watch.between

    def _read(self, plan: GatewayPlan) -> tuple[RegisterMap, ...]:
        """The maps of a gateway's instruments; none where one cannot be used."""
        try:
            return tuple(self._maps[i.instrument.map_name] for i in plan.instruments)
        except ComplianceError:
            return ()

    def _start(self, plan: GatewayPlan, *, cause: str, last: Mapping[int, int]) -> None:
        one = self._polled[plan.gateway.id] = _Polled(plan=plan)
        try:
            one.maps = self._read(plan)
            units = [
                Unit(i, self._maps[i.instrument.map_name], self._plans) for i in plan.instruments
            ]
            one.watch = Watch(plan.gateway, units, self._gather, notice=self._fault)
        except ComplianceError as error:
            one.faults["set-up"] = str(error)
            log.error("gateway", gateway=plan.gateway.name, state=str(error))
            self._fault(f"gateway {plan.gateway.name} cannot be polled: {error}")
            return
        one.task = asyncio.create_task(self._poll(plan, one.watch, cause=cause, last=last))

    async def _poll(
        self, plan: GatewayPlan, watch: Watch, *, cause: str, last: Mapping[int, int]
    ) -> None:
        """The outermost loop of one gateway: a fault of ours is written down, and it goes on."""
        polling = asyncio.ensure_future(watch.run())
        try:
            await asyncio.sleep(0)  # now its first slot is settled: what came before is missing
            self._note_missing(plan, cause, last)
            while watch.intervals:
                await self._until_fault(plan, polling)
                await asyncio.sleep(PAUSE_AFTER_FAULT_SECONDS)
                polling = asyncio.ensure_future(watch.run())  # its slots go on where they were
        finally:
            polling.cancel()

    async def _until_fault(self, plan: GatewayPlan, polling: asyncio.Future[None]) -> None:
        try:
            await polling
        except Exception as error:
            log.exception("gateway task", gateway=plan.gateway.name)
            self._fault(f"gateway {plan.gateway.name}: {type(error).__name__}: {error}")

    def _note_missing(self, plan: GatewayPlan, cause: str, last: Mapping[int, int]) -> None:
        """Tell why nothing came between a channel's last slot and now, where one is missing."""
        now_us = time.time_ns() // 1000
        channels = _channels(plan)
        own = self._spool.last_slots(c.id for c in channels)
        since: dict[int, list[int]] = {}
        for channel in channels:
            known = max(own.get(channel.id, 0), last.get(channel.id, 0))
            if known and known + 1000 * channel.interval_ms <= now_us:
                since.setdefault(known, []).append(channel.id)
        self._spool.note(
            Gap(channels=tuple(ids), since_us=known + 1, until_us=now_us + 1, cause=cause)
            for known, ids in since.items()
        )


def _channels(*plans: GatewayPlan) -> list[Channel]:
    return [c for plan in plans for i in plan.instruments for c in i.channels]
