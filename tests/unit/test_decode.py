"""Words to numbers and back, with the cases that other people's programs got wrong."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.errors import InputError
from compliance.model.readings import Grade, Quality
from compliance.model.register_map import Entry, Order, RegisterType, Table
from compliance.model.units import Unit
from ingest.decode import decode, decode_entry
from ingest.encode import encode

T = RegisterType


def entry(**changes: object) -> Entry:
    plain = {"name": "e", "table": Table.HOLDING, "address": 0, "printed": "40001"}
    return Entry(**{**plain, "type": T.UINT16, "words": 1, **changes})  # type: ignore[arg-type]


@pytest.fixture
def case(shared: Path, request: pytest.FixtureRequest) -> dict[str, object]:
    cases = json.loads((shared / "cases" / "field_reports.json").read_text())
    return next(found["input"] for found in cases if found["id"] == request.param)


@pytest.mark.parametrize("case", ["ING-01"], indirect=True)
def test_ing_01_swapped_words_read_as_the_flow_and_in_the_wrong_order_as_suspect(case):
    words = [int(word, 16) for word in case["words"]]
    right = decode(words, T(case["type"]), order=Order(case["configured_order"]))
    wrong = decode(words, T(case["type"]), order=Order.ABCD)
    assert (str(right.value), right.grade) == ("182.5", Grade.GOOD)
    assert (wrong.value, wrong.grade) == (None, Grade.SUSPECT)
    assert "-2.41e-41" in wrong.reason


@pytest.mark.parametrize("case", ["ING-04"], indirect=True)
def test_ing_04_the_sign_is_applied_before_the_scale(case):
    decoded = decode([int(case["word"], 16)], T.INT16, scale=Decimal(str(case["scale"])))
    assert str(decoded.value) == "-1.3"


def test_ing_07_a_sensor_fault_is_missing_and_never_the_last_good_value():
    ph = entry(scale=Decimal("0.01"), missing=(0xFFFF,))
    decoded = [decode_entry(ph, [word]) for word in (0x02C8, 0xFFFF, 0xFFFF, 0xFFFF, 0x02D0)]
    assert [str(each.value) for each in decoded] == ["7.12", "None", "None", "None", "7.20"]
    assert [each.grade for each in decoded[1:4]] == [Grade.MISSING] * 3


@pytest.mark.parametrize("case", ["ING-08"], indirect=True)
def test_ing_08_marks_that_look_like_readings_are_stopped_at_the_source(case):
    decoded = [decode([word], T.UINT16, missing=[255, 65535]) for word in case["words"]]
    assert [each.value for each in decoded] == [21, None, 22, None]


@pytest.mark.parametrize("case", ["ING-22"], indirect=True)
def test_ing_22_mod10k_words_are_digits_of_base_ten_thousand(case):
    assert decode(case["words"], T.MOD10K).value == 120345
    assert decode(case["words3"], T.MOD10K).value == 300410007
    assert decode([3, 10000], T.MOD10K).grade is Grade.BAD


@pytest.mark.parametrize("case", ["ING-28"], indirect=True)
def test_ing_28_a_spike_outside_the_range_keeps_its_value_and_is_bad(case):
    ph = entry(scale=Decimal("0.1"), low=Decimal(0), high=Decimal(14))
    decoded = [decode_entry(ph, [round(10 * value)]) for value in case["polls"]]
    assert [each.quality for each in decoded] == [0, 0, Quality.OUT_OF_RANGE, 0]
    assert decoded[2].value == 25


def test_a_mark_is_compared_with_the_raw_words_in_order_before_sign_and_scale():
    words = [0x0000, 0x8000]
    decoded = decode(words, T.INT32, order=Order.CDAB, scale=Decimal(2), missing=[0x80000000])
    assert decoded.grade is Grade.MISSING
    assert decode(words, T.INT32, missing=[0x80000000]).value == 0x8000


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (Order.ABCD, [0x0102, 0x0304, 0x0506, 0x0708]),
        (Order.CDAB, [0x0708, 0x0506, 0x0304, 0x0102]),
        (Order.BADC, [0x0201, 0x0403, 0x0605, 0x0807]),
        (Order.DCBA, [0x0807, 0x0605, 0x0403, 0x0201]),
    ],
)
def test_in_64_bits_an_order_moves_words_and_bytes_as_promised(order, words):
    assert decode(words, T.UINT64, order=order).value == 0x0102030405060708


@pytest.mark.parametrize(
    ("words", "kind", "grade"),
    [
        ([0x7FC0, 0], T.FLOAT32, Grade.BAD),
        ([0x7FA0, 0], T.FLOAT32, Grade.BAD),
        ([0xFF80, 0], T.FLOAT32, Grade.BAD),
        ([0x7FF0, 0, 0, 0], T.FLOAT64, Grade.BAD),
        ([0x12A4], T.BCD16, Grade.BAD),
        ([0, 0, 0, 1], T.FLOAT64, Grade.SUSPECT),
    ],
)
def test_what_is_no_number_gives_no_value(words, kind, grade):
    decoded = decode(words, kind)
    assert (decoded.value, decoded.grade) == (None, grade)
    assert decoded.reason


def test_minus_zero_is_zero():
    assert str(decode([0x8000, 0], T.FLOAT32).value) == "0"


@pytest.mark.parametrize(
    ("words", "kind"), [([1], T.FLOAT32), ([65536], T.UINT16), ([-1], T.INT16)]
)
def test_words_that_do_not_fit_are_refused(words, kind):
    with pytest.raises(InputError, match="expected"):
        decode(words, kind)


def test_64_bits_times_a_small_scale_lose_no_digit():
    decoded = decode([0xFFFF] * 4, T.UINT64, scale=Decimal("0.000000001"))
    assert str(decoded.value) == "18446744073.709551615"


@pytest.mark.parametrize(
    ("word", "value", "quality"),
    [
        (0, 7, Quality.GOOD),
        (1, 7, Quality.STATUS_UNCERTAIN),
        (2, 7, Quality.STATUS_BAD),
        (3, None, Quality.MISSING_MARK),
        (9, 7, Quality.STATUS_UNCERTAIN),
    ],
)
def test_the_status_register_qualifies_the_value(word, value, quality):
    codes = {1: Quality.STATUS_UNCERTAIN, 2: Quality.STATUS_BAD, 3: Quality.MISSING_MARK}
    ph = entry(status="s", status_codes={0: Quality.GOOD, **codes})
    decoded = decode_entry(ph, [7], status_word=word)
    assert (decoded.value, decoded.quality) == (value, quality)


def test_each_set_bit_of_a_bit_status_adds_its_quality():
    ph = entry(
        status="s", status_by_bit=True, status_codes={0: Quality.STATUS_BAD, 3: Quality.GOOD}
    )
    decoded = [decode_entry(ph, [7], status_word=word).quality for word in (0, 1, 8, 16)]
    assert decoded == [0, Quality.STATUS_BAD, 0, Quality.STATUS_UNCERTAIN]


def test_a_share_becomes_engineering_units_by_the_span_of_its_channel():
    flow = entry(type=T.INT16, scale=Decimal("0.01"), share=True)
    assert decode_entry(flow, [2500], span=(Decimal(100), Decimal(300))).value == 150
    with pytest.raises(InputError, match="span"):
        decode_entry(flow, [2500])


def test_a_value_is_converted_and_then_rounded_once_half_up():
    flow = entry(type=T.FLOAT64, words=4, unit=Unit.M3_H)
    words = encode(Decimal("22.71247070"), flow, Order.ABCD)  # 99.99999 gpm and a little
    decoded = decode_entry(flow, words, unit=Unit.GPM, resolution=Decimal("0.1"))
    assert str(decoded.value) == "100.0"
    half = [decode_entry(entry(), [word], resolution=Decimal(2)).value for word in (1, 3, 4)]
    assert half == [2, 4, 4]


def test_a_number_as_large_as_a_wrong_order_makes_it_is_still_a_value():
    total = entry(type=T.FLOAT64, words=4)
    words = encode(1e300, total)
    assert decode_entry(total, words, resolution=Decimal("0.001")).value == Decimal("1e300")


def test_the_order_of_an_instrument_leaves_single_words_and_mapped_orders_alone():
    assert decode_entry(entry(), [0x0102], order=Order.DCBA).value == 0x0102
    mapped = entry(type=T.UINT32, words=2, order=Order.ABCD)
    assert decode_entry(mapped, [0, 5], order=Order.CDAB).value == 5
    open_order = entry(type=T.UINT32, words=2)
    assert decode_entry(open_order, [5, 0], order=Order.CDAB).value == 5


def test_a_text_register_gives_its_text_and_no_value():
    tag = entry(type=T.STRING, words=4)
    decoded = decode_entry(tag, encode("MH-1", tag))
    assert (decoded.value, decoded.text, decoded.grade) == (None, "MH-1", Grade.GOOD)


BOUNDS = {
    **{T(f"int{n}"): (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (16, 32, 64)},
    **{T(f"uint{n}"): (0, 2**n - 1) for n in (16, 32, 64)},
    T.BCD16: (0, 9999),
    T.BCD32: (0, 99_999_999),
    T.MOD10K: (0, 10_000**3 - 1),
    T.BITS: (0, 2**16 - 1),
}
WORDS = {T.MOD10K: 3, T.BITS: 1}


@given(st.data(), st.sampled_from(sorted(BOUNDS)), st.sampled_from(Order))
def test_every_whole_number_survives_its_registers_in_every_order(data, kind, order):
    number = data.draw(st.integers(*BOUNDS[kind]))
    where = entry(type=kind, words=kind.words or WORDS[kind], order=order)
    assert decode_entry(where, encode(Decimal(number), where)).value == number


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False),
    st.sampled_from(Order),
)
def test_every_float32_survives_its_registers_in_every_order(number, order):
    where = entry(type=T.FLOAT32, words=2, order=order)
    words = encode(number, where)
    assert encode(decode_entry(where, words).value or Decimal(0), where) in (
        words,
        encode(0.0, where),
    )


@given(
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False), st.sampled_from(Order)
)
def test_every_float64_survives_its_registers_in_every_order(number, order):
    where = entry(type=T.FLOAT64, words=4, order=order)
    assert float(decode_entry(where, encode(number, where)).value or 0) == number


@pytest.mark.parametrize(
    ("kind", "words", "number"),
    [(T.FLOAT32, 2, "1e39"), (T.UINT16, 1, "-1"), (T.BCD16, 1, "10000"), (T.MOD10K, 1, "10000")],
)
def test_a_number_too_large_for_its_registers_is_refused(kind, words, number):
    with pytest.raises(InputError, match="does not fit"):
        encode(Decimal(number), entry(type=kind, words=words))
