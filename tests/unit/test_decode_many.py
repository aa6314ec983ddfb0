"""All instruments of a map at once: the very floats and flags that one after another gives."""

from __future__ import annotations

import math
from dataclasses import replace
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
from ingest.decode import as_float, shortest
from ingest.decode_many import DecodePlan, decode_many, decode_plan
from ingest.encode import encode
from ingest.linked import Wanted, decode_linked, wanted
from ingest.steps import shortest_of

T = RegisterType


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


@settings(max_examples=150, deadline=None)
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


def filled(plan: DecodePlan, instruments: int) -> np.ndarray:
    random = np.random.default_rng(7)
    words = random.integers(0, 65536, (instruments, plan.width), dtype=np.uint16)
    entries = {e.name: e for each in plan.wanted for e in each.entries}
    for name, start in plan.starts.items():
        if entries[name].type is not T.STRING and entries[name].clock is None:
            for row in words[::2]:  # half of them sound, half of them any words
                row[start : start + entries[name].words] = encode(
                    Decimal(int(random.integers(0, 9))), entries[name], Order.CDAB
                )
    return words


@pytest.mark.parametrize("name", library.names())
def test_every_map_of_the_package_decodes_at_once_as_one_after_another(name):
    found = replace(library.load(name), base_open=False)
    asked = [
        wanted(
            found,
            one.name,
            order=Order.CDAB,
            resolution=Decimal("0.01"),
            span=(Decimal(0), Decimal(500)) if one.share else None,
            unit={"temperature": Unit.DEG_F, "flow_1": Unit.GPM}.get(one.name, one.unit),
        )
        for one in found.entries.values()
    ]
    plan = decode_plan(found, asked)
    words = filled(plan, 24)
    assert_same(plan, words)
    unread = np.zeros((24, len(plan.blocks)), np.int16)
    unread[::3, :] = np.int16(Quality.NO_ANSWER)
    unread[1::5, 0] = np.int16(Quality.EXCEPTION)
    assert_same(plan, words, unread)


SCALED = mapped(
    entry("level", 0, exponent_register="power", unit_register="unit"),
    entry("total", 1, type=T.FLOAT32, words=2, multiplier_register="times"),
    entry("power", 3, type=T.INT16),
    entry("unit", 4, codes={1: "ft", 2: "m", 3: "gal"}),
    entry("times", 5, type=T.FLOAT32, words=2),
)


def scaled_plan() -> DecodePlan:
    level = wanted(SCALED, "level", resolution=Decimal("0.001"), unit=Unit.FT)
    total = wanted(SCALED, "total", resolution=Decimal("0.1"))
    return decode_plan(SCALED, [level, total])


def words_of(level: int, total: float, power: int, unit: int, times: float) -> list[int]:
    pairs = zip(SCALED.entries.values(), (level, total, power, unit, times), strict=True)
    return [word for one, number in pairs for word in encode(Decimal(str(number)), one)]


def test_instruments_that_scale_and_name_their_values_differently_are_told_apart():
    rows = [
        words_of(1234, 12.5, -2, 1, 100),
        words_of(1234, 12.5, -3, 2, 1000),
        words_of(1234, 12.5, 0, 3, 1),
        words_of(1234, 12.5, 99, 1, 0),
    ]
    words = np.array(rows, np.uint16)
    values, quality = decode_many(scaled_plan(), words)
    assert values[:2].tolist() == [[12.34, 1250.0], [4.049, 12500.0]]
    assert np.isnan(values[2, 0])
    assert np.isnan(values[3]).all()
    bad = int(Quality.NOT_FINITE)
    assert quality.tolist() == [[0, 0], [0, 0], [int(Quality.STATUS_BAD), 0], [bad, bad]]
    assert_same(scaled_plan(), words)


def test_a_value_without_its_multiplier_or_its_unit_is_no_value():
    plan = scaled_plan()
    words = np.array([words_of(1234, 12.5, -2, 1, 100)], np.uint16)
    unread = np.full((1, len(plan.blocks)), int(Quality.NO_ANSWER), np.int16)
    values, quality = decode_many(plan, words, unread)
    assert np.isnan(values).all()
    assert (quality == int(Quality.NO_ANSWER)).all()


def test_a_value_in_the_middle_of_two_steps_is_rounded_up_as_its_decimal_says():
    flow = entry(type=T.FLOAT32, words=2)
    plan = decode_plan(mapped(flow), [Wanted(entry=flow, resolution=Decimal("0.1"))])
    numbers = ["0.35", "0.45", "-0.35", "7.25", "0.25", "1234.05", "8388607.5"]
    words = np.array([encode(Decimal(number), flow) for number in numbers], np.uint16)
    values, _ = decode_many(plan, words)
    assert values[:, 0].tolist() == [0.4, 0.5, -0.4, 7.3, 0.3, 1234.1, 8388607.5]


def test_a_number_next_to_a_middle_goes_to_its_own_side():
    flow = entry(type=T.FLOAT64, words=4)
    plan = decode_plan(mapped(flow), [Wanted(entry=flow, resolution=Decimal("0.1"))])
    middles = [n / 20 for n in range(-999, 1000, 2)]
    numbers = [
        float(near) for m in middles for near in (np.nextafter(m, -99), m, np.nextafter(m, 99))
    ]
    assert_same(plan, np.array([encode(number, flow) for number in numbers], np.uint16))


def test_an_offset_that_nearly_cancels_a_number_leaves_its_middles_right():
    level = entry(type=T.UINT32, words=2, scale=Decimal("0.0001"), offset=Decimal("-777.7"))
    plan = decode_plan(mapped(level), [Wanted(entry=level, resolution=Decimal("0.03"))])
    middles = range(7_777_150 - 300 * 300, 7_777_150 + 300 * 300, 300)
    words = np.array([(n >> 16, n & 0xFFFF) for n in middles], np.uint16)
    assert_same(plan, words)
    assert decode_many(plan, words)[0][300, 0] == 0.03  # 0.015, half up


def test_a_status_or_a_unit_that_was_not_read_leaves_what_is_known_in_doubt():
    found = mapped(
        entry(
            "level",
            0,
            unit=Unit.FT,
            status="state",
            unit_register="unit",
            status_codes={0: Quality.GOOD},
        ),
        entry("state", 9),
        entry("unit", 20, codes={1: "ft", 2: "m"}),
    )
    plan = decode_plan(found, [wanted(found, "level", resolution=Decimal("0.01"), unit=Unit.FT)])
    words = np.array([[7, 0, 2]] * 3, np.uint16)
    unread = np.zeros((3, 3), np.int16)
    unread[1, 1] = unread[2, 2] = int(Quality.EXCEPTION)
    values, quality = decode_many(plan, words, unread)
    doubt = int(Quality.STATUS_UNCERTAIN)
    assert quality[:, 0].tolist() == [0, doubt, doubt]
    assert values[2, 0] == 7
    assert_same(plan, words, unread)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_the_shortest_decimal_of_many_floats_is_that_of_each(numbers):
    with np.errstate(all="ignore"):
        found, unsure = shortest_of(np.array(numbers, np.float32))
    right = [float(shortest(number, T.FLOAT32)) for number in numbers]
    assert [a for a, open_yet in zip(found, unsure, strict=True) if not open_yet] == [
        a for a, open_yet in zip(right, unsure, strict=True) if not open_yet
    ]


def test_a_power_of_two_has_a_nearer_neighbour_below():
    numbers = (2.0 ** np.arange(-126, 128)).astype(np.float32)
    found, unsure = shortest_of(numbers)
    right = np.array([float(shortest(float(n), T.FLOAT32)) for n in numbers])
    assert (found[~unsure] == right[~unsure]).all()
    assert not unsure[(numbers >= 2.0**-4) & (numbers <= 2.0**19)].any()


def test_the_decimals_that_people_write_are_found_without_a_doubt():
    numbers = np.array([n / 1000 for n in range(1, 20_000, 7)], np.float32)
    found, unsure = shortest_of(numbers)
    assert not unsure.any()
    assert found.tolist() == [n / 1000 for n in range(1, 20_000, 7)]


@pytest.mark.parametrize(
    ("words", "unread"),
    [
        (np.zeros((2, 3), np.uint16), None),
        (np.zeros((2, 1), np.int32), None),
        (np.zeros(1, np.uint16), None),
        (np.zeros((2, 1), np.uint16), np.zeros((2, 2), np.int16)),
    ],
)
def test_arrays_that_do_not_fit_the_plan_are_refused(words, unread):
    plan = decode_plan(mapped(entry()), [Wanted(entry=entry())])
    with pytest.raises(InputError, match="expected"):
        decode_many(plan, words, unread)
