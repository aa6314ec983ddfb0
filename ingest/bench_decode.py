"""How fast words become values with their full quality, beside pymodbus in the same run.

Ours: all instruments of a map at one tick in one call, with missing marks, what is no number,
range, status, scale, resolution and units. The peer: ``convert_from_registers``, called once for
each entry of each instrument, which does the first step only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray
from pymodbus.client.mixin import ModbusClientMixin

from compliance.errors import InputError
from compliance.model.bench import Row
from compliance.model.register_map import Entry, Kind, Order, RegisterMap, RegisterType
from compliance.model.units import Unit, dimension
from ingest import library
from ingest.decode import as_float
from ingest.decode_many import DecodePlan, decode_many, decode_plan
from ingest.encode import encode
from ingest.linked import Wanted, decode_linked, wanted

ORDER = Order.CDAB
SIZES = {"small": (1000, 3, 0.05), "full": (3000, 7, 0.3)}
"""Instruments, rounds and seconds of each round; the best round counts."""

_TOTALS = "siemens-mag6000"
_RESOLUTION = Decimal("0.01")
_SPAN = (Decimal(0), Decimal(500))
_TOLD = {"flow": Unit.GPM, "volume": Unit.GAL, "temperature": Unit.DEG_F, "length": Unit.FT}
_TOP: dict[Unit | None, float] = {Unit.M3_S: 0.05, Unit.MGD: 2.0, Unit.M3: 1e5, Unit.SU: 14.0}
_TYPE = ModbusClientMixin.DATATYPE
_PEER = {
    RegisterType.INT16: _TYPE.INT16,
    RegisterType.UINT16: _TYPE.UINT16,
    RegisterType.BITS: _TYPE.UINT16,
    RegisterType.INT32: _TYPE.INT32,
    RegisterType.UINT32: _TYPE.UINT32,
    RegisterType.INT64: _TYPE.INT64,
    RegisterType.UINT64: _TYPE.UINT64,
    RegisterType.FLOAT32: _TYPE.FLOAT32,
    RegisterType.FLOAT64: _TYPE.FLOAT64,
}
_Words = NDArray[np.uint16]


def rows(size: str, names: Sequence[str] = ()) -> tuple[Row, ...]:
    """A row for each map that can be read as it is; ``names`` picks some.

    Raises: InputError when a value differs from what decimal arithmetic gives.
    """
    count, rounds, seconds = SIZES[size]
    maps = [library.load(name) for name in names or library.names()]
    found = [_row(of, count, rounds, seconds) for of in maps if not of.base_open]
    return (*found, *([] if names else [_digits_row(count, rounds, seconds)]))


def _row(found: RegisterMap, count: int, rounds: int, seconds: float) -> Row:
    asked = [_asked(found, entry) for entry in found.entries.values() if _is_value(entry)]
    plan = decode_plan(found, asked)
    what = f"{found.name}: {len(asked)} entries of {count} instruments in one call"
    return _timed(what, plan, _words(plan, count), rounds, seconds)


def _digits_row(count: int, rounds: int, seconds: float) -> Row:
    """The slowest there is: every float ends between two steps, in as many digits as fit."""
    found = library.load(_TOTALS)
    entries = [e for e in found.entries.values() if e.kind == Kind.TOTAL and _is_float32(e)]
    plan = decode_plan(found, [_asked(found, entry) for entry in entries])
    random = np.random.default_rng(1)
    words = np.zeros((count, plan.width), np.uint16)
    for entry in entries:
        start = plan.starts[entry.name]
        drawn = random.uniform(1e4, 1e6, count).astype(">f4").view(">u2").reshape(count, 2)
        is_low_first = (entry.order or ORDER) is Order.CDAB
        words[:, start : start + 2] = drawn[:, ::-1] if is_low_first else drawn
    what = f"{found.name}: {len(entries)} float32 totals of every digit of {count} instruments"
    return _timed(what, plan, words, rounds, seconds)


def _is_float32(entry: Entry) -> bool:
    return entry.type is RegisterType.FLOAT32


def _timed(what: str, plan: DecodePlan, words: _Words, rounds: int, seconds: float) -> Row:
    check(plan, words)
    count, size = len(words), len(plan.wanted)
    few = words[: max(1, 2000 // size)].tolist()
    convert = [_converter(plan, each) for each in plan.wanted]
    ours, theirs = _best(
        (lambda: decode_many(plan, words), lambda: [c(device) for device in few for c in convert]),
        rounds=rounds,
        seconds=seconds,
    )
    return Row(
        what=what,
        figure=count * size / ours,
        unit="values/s",
        against="pymodbus convert_from_registers, once for each entry",
        against_figure=len(few) * size / theirs,
    )


def _is_value(entry: Entry) -> bool:
    plain = entry.clock is None and entry.kind != Kind.COMMAND
    return plain and entry.type in _PEER and entry.words == (entry.type.words or 1)


def _asked(found: RegisterMap, entry: Entry) -> Wanted:
    told = None if entry.unit is None else _TOLD.get(dimension(entry.unit), entry.unit)
    span = _SPAN if entry.share else None
    return wanted(found, entry.name, order=ORDER, resolution=_RESOLUTION, span=span, unit=told)


def _words(plan: DecodePlan, count: int) -> _Words:
    """Words as instruments send them: noise about a level, status registers that say good."""
    random = np.random.default_rng(1)
    words = np.zeros((count, plan.width), np.uint16)
    entries = {e.name: e for each in plan.wanted for e in each.entries}
    for name, start in plan.starts.items():
        entry = entries[name]
        drawn = [encode(_number(entry, random), entry, ORDER) for _ in range(min(count, 500))]
        words[:, start : start + entry.words] = np.resize(drawn, (count, entry.words))
    return words


def _number(entry: Entry, random: np.random.Generator) -> Decimal:
    """What an instrument may say: a few digits, of the size that a sewer has."""
    if entry.kind in (Kind.UNIT_CODE, Kind.CONFIG):
        return Decimal(_usual_code(entry))
    if entry.kind == Kind.STATUS:
        return Decimal(next((c for c, said in entry.status_codes.items() if not said), 0))
    if not entry.type.value.startswith("float"):
        raw = int(random.integers(1, 10_000 if entry.words == 1 else 10_000_000))
        return raw * entry.scale + entry.offset
    top = _TOP.get(entry.unit, 1e6 if entry.kind == Kind.TOTAL else 100.0)
    top = top if entry.high is None else min(top, float(entry.high))
    drawn = float(random.uniform(0.1, 1.0)) * top
    return Decimal(f"{drawn:.5g}")


def _usual_code(entry: Entry) -> int:
    """A unit code that many meters are set to, else the first there is."""
    wish = "degF" if "temp" in entry.name else "gal" if "total" in entry.name else "gpm"
    return next((c for c, text in entry.codes.items() if text == wish), next(iter(entry.codes), 1))


def _converter(plan: DecodePlan, of: Wanted) -> Callable[[list[int]], object]:
    """The peer's decoding of one entry out of an instrument's words."""
    start = plan.starts[of.entry.name]
    end, kind = start + of.entry.words, _PEER[of.entry.type]
    convert = ModbusClientMixin.convert_from_registers
    if (of.entry.order or ORDER) is Order.CDAB:
        return lambda words: convert(words[start:end], kind, word_order="little")
    return lambda words: convert(words[start:end], kind)


def _best(
    pair: tuple[Callable[[], object], Callable[[], object]], *, rounds: int, seconds: float
) -> tuple[float, float]:
    """Processor seconds of one call of each; they take turns, and the best round counts."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for at, work in enumerate(pair):
            best[at] = min(best[at], _once(work, seconds))
    return best[0], best[1]


def _once(work: Callable[[], object], seconds: float) -> float:
    start, calls = time.process_time(), 0
    while time.process_time() - start < seconds:
        work()
        calls += 1
    return (time.process_time() - start) / calls


def check(plan: DecodePlan, words: _Words, *, instruments: int = 20) -> None:
    """The values that are timed must be the right ones.

    Raises: InputError naming the first that is not.
    """
    some = words[:instruments]
    values, quality = decode_many(plan, some)
    entries = {e.name: e for each in plan.wanted for e in each.entries}
    for row, device in enumerate(some.tolist()):
        told = {n: tuple(device[s : s + entries[n].words]) for n, s in plan.starts.items()}
        for at, each in enumerate(plan.wanted):
            value, said = as_float(decode_linked(each, told))
            found = None if np.isnan(values[row, at]) else values[row, at]
            if (found, int(quality[row, at])) != (value, int(said)):
                raise InputError(
                    f"{each.entry.name} of instrument {row} decodes to {found}; expected {value}"
                )
