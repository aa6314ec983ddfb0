"""All instruments of a map at once: the very floats and flags that one after another gives."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compliance.errors import InputError
from compliance.model.readings import Quality
from compliance.model.register_map import Entry, Order, RegisterMap, RegisterType, Table
from compliance.model.units import Unit
from ingest import library
from ingest.decode import as_float, decode_entry
from ingest.decode_many import DecodePlan, decode_many, decode_plan
from ingest.encode import encode
from ingest.linked import Wanted, decode_linked, wanted
from ingest.steps import shortest_of

T = RegisterType
WORDS = {T.MOD10K: 3, T.BITS: 2, T.STRING: 2}
STATUS = {0: Quality.GOOD, 1: Quality.STATUS_UNCERTAIN, 2: Quality.STATUS_BAD}


def entry(name: str = "e", address: int = 0, **changes: object) -> Entry:
    plain = {"name": name, "table": Table.HOLDING, "address": address, "printed": "x"}
    return Entry(**{**plain, "type": T.UINT16, "words": 1, **changes})  # type: ignore[arg-type]


def mapped(*entries: Entry) -> RegisterMap:
    plain = dict.fromkeys(("name", "vendor", "model", "role", "document"), "m")
    return RegisterMap(
        **plain,
        sources=(),
        quirks=(),
        max_registers=None,
        needs_write=False,
        entries={each.name: each for each in entries},
    )


def one_by_one(plan: DecodePlan, words: np.ndarray, unread: np.ndarray | None = None):
    """What ``decode_linked`` gives for each instrument and entry, as two arrays."""
    values, quality = np.empty((len(words), len(plan.wanted))), []
    for row, device in enumerate(words):
        told = {}
        for name, start in plan.starts.items():
            why = 0 if unread is None else unread[row, plan.owner[name]]
            found = next(e for w in plan.wanted for e in w.entries if e.name == name)
            end = start + found.words
            told[name] = Quality(int(why)) if why else tuple(device[start:end].tolist())
        for place, each in enumerate(plan.wanted):
            value, said = as_float(decode_linked(each, told))
            values[row, place] = math.nan if value is None else value
            quality.append(int(said))
    return values, np.array(quality, np.int16).reshape(values.shape)


def assert_same(plan: DecodePlan, words: np.ndarray, unread: np.ndarray | None = None) -> None:
    values, quality = decode_many(plan, words, unread)
    right, said = one_by_one(plan, words, unread)
    assert values.shape == right.shape
    assert np.array_equal(values, right, equal_nan=True)
    assert not np.signbit(values[values == 0]).any()
    assert np.array_equal(quality, said)


DECIMALS = st.sampled_from(["1", "0.1", "0.01", "-0.01", "0.001", "2.5", "1E-9", "3", "1000"])
STEPS = st.sampled_from([None, "1", "0.1", "0.01", "0.001", "0.25", "5", "0.5", "100", "0.0001"])
UNITS = st.sampled_from(
    [(None, None), (Unit.M3_S, Unit.GPM), (Unit.DEG_C, Unit.DEG_F), (Unit.KGAL, Unit.GAL)]
)


@st.composite
def wishes(draw: st.DrawFn) -> Wanted:
    kind = draw(st.sampled_from([t for t in T if t is not T.STRING]))
    words = kind.words or draw(st.integers(1, 4))
    own, channel = draw(UNITS)
    step = draw(STEPS)
    low, high = draw(st.sampled_from([(None, None), ("0", "14"), ("-5", None), (None, "100.5")]))
    share = draw(st.booleans()) and own is None
    marks = draw(st.lists(st.integers(0, 2 ** (16 * words) - 1), max_size=2))
    return Wanted(
        entry=entry(
            type=kind,
            words=words,
            order=draw(st.sampled_from([None, *Order])),
            scale=Decimal(draw(DECIMALS)),
            offset=Decimal(draw(st.sampled_from(["0", "0", "-40", "0.005"]))),
            unit=own,
            low=None if low is None else Decimal(low),
            high=None if high is None else Decimal(high),
            missing=tuple(marks),
            share=share,
        ),
        order=draw(st.sampled_from([None, *Order])),
        resolution=None if step is None else Decimal(step),
        span=(Decimal("-10"), Decimal("250.5")) if share else None,
        unit=channel,
    )


def placed(wish: Wanted, address: int, name: str) -> Wanted:
    from dataclasses import replace

    return replace(wish, entry=replace(wish.entry, name=name, address=address))


@st.composite
def numbers(draw: st.DrawFn, wish: Wanted) -> tuple[int, ...]:
    """Words that hold a number of few digits where they can, else any words."""
    of = wish.entry
    scaled = st.integers(-200_000, 200_000).map(lambda n: Decimal(n) / 1000)
    number = draw(scaled | st.decimals(-(10**9), 10**9, places=3) | st.just(Decimal(0)))
    if draw(st.booleans()):
        try:
            return encode(number * of.scale + of.offset, of, wish.order)
        except InputError:
            pass
    return tuple(draw(st.lists(st.integers(0, 65535), min_size=of.words, max_size=of.words)))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_bit_for_bit_what_one_after_another_gives(data):
    asked = data.draw(st.lists(wishes(), min_size=1, max_size=5))
    asked = [placed(wish, 10 * n, f"e{n}") for n, wish in enumerate(asked)]
    plan = decode_plan(mapped(*(wish.entry for wish in asked)), asked)
    rows = []
    for _ in range(data.draw(st.integers(1, 5))):
        row = np.zeros(plan.width, np.uint16)
        for wish in asked:
            start = plan.starts[wish.entry.name]
            row[start : start + wish.entry.words] = data.draw(numbers(wish))
        rows.append(row)
    assert_same(plan, np.array(rows))
