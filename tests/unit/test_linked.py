"""Values with the registers that qualify, scale and name them; clocks; words of two instants."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from compliance.errors import InputError, UnitMismatch
from compliance.model.readings import Grade, Quality
from compliance.model.register_map import Clock, Entry, Order, RegisterType, Table
from compliance.model.units import Unit
from ingest import library
from ingest.clock import device_time
from ingest.decode import decode_entry
from ingest.encode import encode
from ingest.linked import decode_linked, wanted
from ingest.plausible import torn

T = RegisterType
SIGMA = library.load("sigma-980")


def entry(**changes: object) -> Entry:
    plain = {"name": "e", "table": Table.HOLDING, "address": 0, "printed": "x"}
    return Entry(**{**plain, "type": T.UINT16, "words": 1, **changes})  # type: ignore[arg-type]


def sigma(name: str, unit: Unit | None, **numbers: float | Quality):
    """What a Sigma 980 tells of an entry; numbers by entry."""
    asked = wanted(SIGMA, name, order=Order.ABCD, resolution=Decimal("0.1"), unit=unit)
    told = {
        n: number if isinstance(number, Quality) else encode(number, SIGMA.entries[n], Order.ABCD)
        for n, number in numbers.items()
    }
    return decode_linked(asked, told)


def test_a_total_is_multiplied_and_told_in_the_unit_that_the_meter_says():
    decoded = sigma(
        "total_flow_1", Unit.KGAL, total_flow_1=812.5, total_flow_unit=4, total_flow_multiplier=1000
    )
    assert (decoded.value, decoded.grade) == (Decimal("812.5"), Grade.GOOD)


@pytest.mark.parametrize(
    ("more", "grade"),
    [
        ({"total_flow_unit": 2, "total_flow_multiplier": 1}, Grade.BAD),  # acre-feet: not known
        ({"total_flow_unit": 25, "total_flow_multiplier": 1}, Grade.BAD),  # gpm is no volume
        ({"total_flow_unit": 99, "total_flow_multiplier": 1}, Grade.BAD),
        ({"total_flow_unit": 4, "total_flow_multiplier": 0}, Grade.BAD),
        ({"total_flow_unit": 4, "total_flow_multiplier": float("nan")}, Grade.BAD),
        ({"total_flow_unit": Quality.NO_ANSWER, "total_flow_multiplier": 1}, Grade.MISSING),
        ({"total_flow_unit": 4, "total_flow_multiplier": Quality.EXCEPTION}, Grade.MISSING),
    ],
)
def test_without_a_sound_multiplier_and_unit_there_is_no_value(more, grade):
    number = more.pop("total_flow_multiplier")
    if number != number:
        asked = wanted(SIGMA, "total_flow_1", order=Order.ABCD, unit=Unit.GAL)
        decoded = decode_linked(
            asked,
            {"total_flow_1": (0x4148, 0), "total_flow_unit": (4,),
             "total_flow_multiplier": (0x7FC0, 0)},
        )  # fmt: skip
    else:
        decoded = sigma(
            "total_flow_1", Unit.GAL, total_flow_1=12.5, total_flow_multiplier=number, **more
        )
    assert (decoded.value, decoded.grade) == (None, grade)


@pytest.mark.parametrize(("code", "value"), [(0, "69.8"), (1, "21.0"), (2, "-421.9")])
def test_the_setting_of_the_controller_says_what_a_temperature_means(code, value):
    found = library.load("eh-liquiline-cm44x")
    asked = wanted(found, "ai2_value", order=Order.CDAB, resolution=Decimal("0.1"), unit=Unit.DEG_F)
    words = encode(21.0, asked.entry, Order.CDAB)
    told = {"ai2_value": words, "ai2_status": (0,), "temperature_unit": (code,)}
    assert str(decode_linked(asked, told).value) == value
    ph = wanted(found, "ai1_value", order=Order.CDAB, unit=Unit.SU)
    assert [each.name for each in ph.entries] == ["ai1_value", "ai1_status"]


@pytest.mark.parametrize(("power", "value"), [(-2, "12.34"), (0, "1234"), (3, "1234000")])
def test_a_power_of_ten_has_its_sign(power, value):
    found = library.load("sigma-980")
    exponent = entry(name="power", type=T.INT16, address=1)
    scaled = entry(exponent_register="power")
    both = {"e": scaled, "power": exponent}
    asked = wanted(replace(found, entries=both), "e")
    decoded = decode_linked(asked, {"e": (1234,), "power": (power & 0xFFFF,)})
    assert decoded.value == Decimal(value)
    assert decode_linked(asked, {"e": (1234,), "power": (31,)}).grade is Grade.BAD


def test_a_channel_of_another_kind_or_without_a_span_is_refused():
    with pytest.raises(UnitMismatch):
        wanted(library.load("siemens-mag6000"), "volume_flow", unit=Unit.SU)
    with pytest.raises(InputError, match="set the channel's span"):
        wanted(library.load("nivus-nivusonic"), "flow_rate")
    with pytest.raises(InputError, match=r"no entry 'ph'; expected one of"):
        wanted(SIGMA, "ph")


def test_inches_become_feet_exactly():
    depth = entry(type=T.FLOAT32, words=2, unit=Unit.IN)
    words = encode(Decimal("50.34"), depth, Order.ABCD)
    decoded = decode_entry(depth, words, resolution=Decimal("0.01"), unit=Unit.FT)
    assert str(decoded.value) == "4.20"  # 4.195 ft, which a twelfth cut off after 28 digits misses


def test_the_least_that_a_float_can_hold_decides_a_middle():
    raw = entry(type=T.FLOAT64, words=4)
    level = replace(raw, offset=Decimal("0.005"))
    values = [
        decode_entry(level, encode(number, raw), resolution=Decimal("0.01"))
        for number in (-1e-200, 0.0, 1e-200)
    ]
    assert [str(each.value) for each in values] == ["0.00", "0.01", "0.01"]


def test_a_small_negative_value_rounds_to_a_plain_zero():
    flow = entry(type=T.FLOAT32, words=2)
    decoded = decode_entry(flow, encode(-0.04, flow), resolution=Decimal("0.1"))
    assert str(decoded.value) == "0.0"


@pytest.mark.parametrize(
    ("number", "text"), [(0, ""), (2, "input 1"), (6, "input 1, input 2"), (9, "")]
)
def test_the_names_of_set_bits_are_told(number, text):
    inputs = library.load("siemens-hydroranger200").entries["discrete_inputs"]
    assert decode_entry(inputs, [number]).text == text


def test_a_code_is_told_in_words():
    state = library.load("siemens-mag6000").entries["run_indicator"]
    assert decode_entry(state, [255]).text == "running"


FIELDS = entry(type=T.BITS, words=6, clock=Clock.FIELDS, kind="time")
UNIX = entry(type=T.UINT64, words=4, clock=Clock.UNIX_SECONDS, kind="time")


@pytest.mark.parametrize(
    ("of", "words", "told"),
    [
        (FIELDS, (5, 4, 3, 2, 1, 2026), datetime(2026, 1, 2, 3, 4, 5)),  # noqa: DTZ001
        (FIELDS, (5, 4, 3, 2, 1, 26), datetime(2026, 1, 2, 3, 4, 5)),  # noqa: DTZ001
        (FIELDS, (0, 0, 0, 0, 0, 0), None),
        (FIELDS, (0, 0, 0, 31, 2, 2026), None),
        (UNIX, (0, 0, 0x6955, 0xB900), datetime(2026, 1, 1, 0, 0)),  # noqa: DTZ001
        (UNIX, (0, 0, 0, 0), None),
        (UNIX, (0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF), None),
    ],
)
def test_an_instruments_own_time_is_told_as_it_shows_it(of, words, told):
    assert device_time(of, words, Order.ABCD) == told
    decoded = decode_entry(of, words)
    assert decoded.value is None
    assert decoded.text == (told.isoformat() if told else "")
    assert (decoded.grade is Grade.GOOD) == (told is not None)


TOTAL = entry(type=T.UINT32, words=2, order=Order.CDAB, modulus=Decimal(2**32), kind="total")


@pytest.mark.parametrize(
    ("before", "now", "is_torn"),
    [
        ((0xFFF0, 1), (0x0010, 2), False),  # 32 passed, both words moved on
        ((0xFFF0, 1), (0x0010, 1), True),  # the low word is new, the high one old
        ((0xFFF0, 1), (0xFFF0, 2), True),  # the high word is new, the low one old
        ((0xFFF0, 0xFFFF), (0x0010, 0), False),  # over the modulus
        (
            (0xFFF0, 0xFFFF),
            (0x0010, 0xFFFF),
            True,
        ),  # the low word began again, the high one not yet
        ((5, 7), (5, 7), False),
        ((5, 7), (0, 0), False),  # a reset is another matter
    ],
)
def test_words_of_two_instants_give_themselves_away(before, now, is_torn):
    said = torn(TOTAL, before, now, most=Decimal(1000))
    assert bool(said) is is_torn
    assert ("two instants" in said) is is_torn


def test_a_torn_float_and_a_torn_mod10k_are_found_too():
    total = entry(type=T.FLOAT64, words=4, kind="total", order=Order.ABCD)
    before, after = (encode(number, total) for number in (65535.9, 65536.1))
    assert before[0] != after[0]
    assert torn(total, before, (before[0], *after[1:]), most=Decimal(10))
    assert not torn(total, before, after, most=Decimal(10))
    digits = entry(type=T.MOD10K, words=2, kind="total")
    assert torn(digits, (12, 9990), (12, 10), most=Decimal(100))
    assert not torn(digits, (12, 9990), (13, 10), most=Decimal(100))
    tens = entry(type=T.BCD32, words=2, kind="total", modulus=Decimal(10**8))
    assert torn(tens, (0x0012, 0x9990), (0x0012, 0x0010), most=Decimal(100))
    assert torn(tens, (0x9999, 0x9990), (0x9999, 0x0010), most=Decimal(100))
