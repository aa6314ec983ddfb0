"""One unit behind a gateway: its round of requests, and the row of answers that comes of it.

A request that fails gives readings without a value and with the reason; an old value is never
repeated, and one that the instrument repeats is marked stale. What a round brings depends only on
the link, so that tests run it on a scripted server. Rows become readings in ``ingest.tick``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from compliance.errors import InputError
from compliance.model.periods import to_us
from compliance.model.register_map import Entry, Order, RegisterMap
from compliance.model.sites import Channel
from compliance.records.sites import InstrumentPlan
from ingest.alike import Alike, Plans
from ingest.asking import Answer, Asking, Came, Reader, by_entry
from ingest.clock import device_time
from ingest.decode import order_of
from ingest.errors import LinkError, is_away
from ingest.freshness import CLOCK_SECONDS, Freshness, beat_limit
from ingest.plan import Block, plan_map
from ingest.tick import Channels, Row

_MOST_OFFSET_MS = 2**31 - 1
_TOLD_TO = "it measures only when told to, and this program never writes"
_Of = Callable[[Entry], Answer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ask:
    """What one unit is asked at one interval. ids: those of its channels, as an array."""

    alike: Alike
    channels: tuple[Channel, ...]
    ids: Channels


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a round brought. errors: why requests failed; silent: the one that says it is away."""

    row: Row
    errors: Sequence[LinkError] = ()
    silent: LinkError | None = None
    is_heard: bool = True


class Unit:
    """What one instrument is asked, and what is known of its moods.

    plans: where what is asked alike is shared with other units.
    Raises: InputError when a channel does not fit the instrument's register map.
    """

    def __init__(
        self, planned: InstrumentPlan, register_map: RegisterMap, plans: Plans | None = None
    ) -> None:
        instrument = planned.instrument
        self.id = instrument.unit_id
        self.name = f"unit {self.id}"
        self.map = register_map
        self.channels = planned.channels
        order, known = _order(instrument.order, self.id), plans or Plans()
        try:
            self.asks = _asks(planned.channels, lambda c: known.alike(register_map, c, order))
        except InputError as error:
            raise InputError(f"unit {self.id}, {error}") from None
        open_order = [name for ask in self.asks.values() for name in ask.alike.open_entries]
        self.undecoded = (
            f"byte order of {', '.join(open_order)} not confirmed" if open_order else ""
        )
        self.stale = ""  # why its values of the last round are old; empty when they are not
        self._asking = Asking(self.id, register_map)
        self._freshness = Freshness()
        self._open: tuple[frozenset[str], Alike | None, tuple[Block, ...]] = frozenset(), None, ()

    async def round(
        self, link: Reader, ask: Ask, *, slot_us: int, offset_ms: int, now: float
    ) -> Said:
        """Ask for the channels of an interval at a slot.

        offset_ms: how long after the slot it is asked; now: seconds of a clock that nobody sets.
        """
        alike = ask.alike
        holes = self._asking.holes(now)
        blocks = self._around(holes, alike) if holes else alike.blocks
        came = await self._asking.came(link, blocks, now=now)
        errors = [said for _, said in came if isinstance(said, LinkError)]
        if errors or holes or len(came) != len(blocks):
            return self._in_parts(ask, came, holes, slot_us=slot_us, offset_ms=offset_ms, now=now)
        words = came[0][1] if len(came) == 1 else [w for _, said in came for w in _words(said)]
        row = Row(ask.ids, slot_us, offset_ms, _words(words))
        return Said(row=self._dated(row, alike, _whole(alike, row.words), now))

    def _around(self, holes: dict[str, LinkError], alike: Alike) -> tuple[Block, ...]:
        """The requests that leave some entries out, worked out when those change."""
        names = frozenset(holes)
        if self._open[:2] != (names, alike):
            left = [entry for entry in alike.entries if entry.name not in names]
            self._open = names, alike, plan_map(left, self.map)
        return self._open[2]

    def _in_parts(
        self,
        ask: Ask,
        came: Came,
        holes: dict[str, LinkError],
        *,
        slot_us: int,
        offset_ms: int,
        now: float,
    ) -> Said:
        """A round of which not everything came as it was asked."""
        answers = {**holes, **by_entry(came)}
        words: list[int] = []
        unread: list[int] = []
        for block in ask.alike.apart.plan.blocks:
            said = answers[block.entries[0].name]
            is_lost = isinstance(said, LinkError)
            unread.append(int(said.quality) if isinstance(said, LinkError) else 0)
            words.extend((0,) * block.answer_words if is_lost else _words(said))
        row = Row(ask.ids, slot_us, offset_ms, words, unread)
        errors = [said for said in answers.values() if isinstance(said, LinkError)]
        return Said(
            row=self._dated(row, ask.alike, lambda entry: answers[entry.name], now),
            errors=errors,
            silent=next((error for error in errors if is_away(error)), None),
            is_heard=len(errors) < len(answers),
        )

    def _dated(self, row: Row, alike: Alike, answer: _Of, now: float) -> Row:
        """A row with what the instrument's heartbeat and its own times say of its values."""
        self.stale = _TOLD_TO if self.map.needs_write else ""
        if alike.is_plain:
            return row
        beat = alike.beat
        is_frozen = beat is not None and self._stands_still(beat, alike, answer(beat), now)
        count = len(alike.wanted)
        stale = (True,) * count if is_frozen or self.map.needs_write else ()
        if not any(alike.clocks):
            return row._replace(stale=stale) if stale else row
        told = [self._device_time(at, alike, answer, row, now=now) for at in range(count)]
        same = stale or tuple(is_same for is_same, _ in told)
        return row._replace(stale=same, device_ms=tuple(apart for _, apart in told))

    def _stands_still(self, beat: Entry, alike: Alike, said: Answer, now: float) -> bool:
        if isinstance(said, LinkError):
            return False
        if self._freshness.stood_still(beat.name, said, now=now) < beat_limit(alike.interval_ms):
            return False
        self.stale = f"its heartbeat register ({beat.name}) stands still"
        return True

    def _device_time(
        self, at: int, alike: Alike, answer: _Of, row: Row, *, now: float
    ) -> tuple[bool, int | None]:
        """Whether a value's own time is that of an earlier poll, and its distance from ours in ms.

        An instrument writes its time in a zone that it does not tell; it is taken as UTC, so that a
        steady distance of hours is its zone, and one that moves is its drift.
        """
        clock, entry = alike.clocks[at], alike.wanted[at].entry
        said = None if clock is None else answer(clock)
        if clock is None or said is None or isinstance(said, LinkError | None):
            return False, None
        if isinstance(answer(entry), LinkError):
            return False, None
        told = device_time(clock, said, order_of(clock, alike.order))
        if told is None:
            return False, None
        same = self._freshness.stood_still(clock.name, said, now=now) >= CLOCK_SECONDS
        if same and not self.stale:
            self.stale = f"its own time of {entry.name} ({clock.name}) stands still"
        apart = (_us(told) - row.slot_us) // 1000 - row.offset_ms
        return same, apart if abs(apart) <= _MOST_OFFSET_MS else None


def _us(told: datetime) -> int:
    return to_us(told.replace(tzinfo=UTC))


def _words(said: Answer | Sequence[int]) -> Sequence[int]:
    """Words where it is settled that they came."""
    assert not isinstance(said, LinkError)
    return said


def _whole(alike: Alike, words: Sequence[int]) -> _Of:
    """Entries out of a row of which everything came."""
    starts = alike.whole.plan.starts
    return lambda entry: tuple(words[starts[entry.name] : starts[entry.name] + entry.words])


def _asks(
    channels: Sequence[Channel], alike: Callable[[Sequence[Channel]], Alike]
) -> dict[int, Ask]:
    """What is asked at each interval."""
    by_interval: dict[int, list[Channel]] = {}
    for channel in channels:
        by_interval.setdefault(channel.interval_ms, []).append(channel)
    return {
        interval: Ask(
            alike=alike(some),
            channels=tuple(some),
            ids=np.array([channel.id for channel in some], np.int32),
        )
        for interval, some in by_interval.items()
    }


def _order(name: str | None, unit_id: int) -> Order | None:
    if name is None:
        return None
    try:
        return Order(name)
    except ValueError:
        raise InputError(
            f"unit {unit_id}: byte order is {name!r}; expected one of {', '.join(Order)}"
        ) from None
