"""Registers beside a display: which orders agree, what is refused, and what counts when."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from compliance.errors import InputError
from compliance.model import steps
from compliance.model.commissioning import (
    Agreement,
    Candidate,
    Counting,
    compare,
    completed,
    differences,
    holes,
    read_by,
    settled,
    uncounted,
)
from compliance.model.parameters import Parameter
from compliance.model.readings import UNJUDGED, Grade, Quality, grade, reasons
from compliance.model.register_map import Order
from compliance.model.units import Unit
from tests.support.polling import entry, mapped

ALL = {Order.ABCD: "-1.2E-11", Order.CDAB: "7.0199999809", Order.BADC: "2.1E+19", Order.DCBA: None}


def candidates(values: dict[Order, str | None]) -> list[Candidate]:
    return [
        Candidate(order=order, value=None if value is None else Decimal(value))
        for order, value in values.items()
    ]


@pytest.mark.parametrize(
    ("display", "resolution", "agrees"),
    [
        ("7.02", "0.01", True),
        ("7.03", "0.01", True),  # one step of the display
        ("7.04", "0.01", False),
        ("7.0", "0.01", True),  # a display of one decimal: its own step is the coarser
        ("7.2", "0.01", False),
        ("7.5", "0.5", True),
        ("7", "0.01", True),
        ("-7.02", "0.01", False),
    ],
)
def test_an_order_agrees_within_one_step_of_the_coarser_of_the_two(
    display: str, resolution: str, agrees: bool
) -> None:
    found = compare(Decimal(display), candidates(ALL), resolution=Decimal(resolution))
    assert found.orders == ((Order.CDAB,) if agrees else ())


def test_where_none_agrees_the_sentence_gives_every_order() -> None:
    found = compare(Decimal("4.00"), candidates(ALL), resolution=Decimal("0.01"))
    assert found.says.startswith("the display shows 4.00, the registers ")
    assert "7.02 as CDAB" in found.says and "no value as DCBA" in found.says


@pytest.mark.parametrize(("read", "factor"), [("70.2", "0.1"), ("0.702", "10"), ("7020", "0.001")])
def test_a_scale_that_is_wrong_by_tens_is_named_and_does_not_agree(read: str, factor: str) -> None:
    one = [Candidate(order=None, value=Decimal(read))]
    found = compare(Decimal("7.02"), one, resolution=Decimal("0.01"))
    assert found.orders == ()
    assert f"times {factor} it would agree: correct the scale in the map" in found.says


def test_one_word_has_no_order_and_agrees_all_the_same() -> None:
    found = compare(
        Decimal("21.3"), [Candidate(order=None, value=Decimal("21.3"))], resolution=Decimal("0.1")
    )
    assert found == Agreement(orders=(None,), says="it agrees")


def agreement(*orders: Order) -> Agreement:
    return Agreement(orders=orders, says="")


@pytest.mark.parametrize(
    ("open_entries", "order", "says"),
    [
        ({}, None, ""),
        ({"ph": agreement(Order.CDAB)}, Order.CDAB, ""),
        ({"ph": agreement(Order.CDAB, Order.DCBA), "t": agreement(Order.CDAB)}, Order.CDAB, ""),
        ({"ph": agreement()}, None, "no order gives what the display shows for ph"),
        ({"ph": agreement(Order.CDAB), "t": agreement(Order.ABCD)}, None, "different orders"),
        ({"flow": agreement(*Order)}, None, "proves no order"),
    ],
)
def test_an_order_is_settled_only_where_one_alone_fits_all(
    open_entries: dict[str, Agreement], order: Order | None, says: str
) -> None:
    found, problem = settled(open_entries)
    assert found is order
    assert says in problem and bool(says) == bool(problem)


def test_what_changes_no_number_asks_for_no_new_comparison() -> None:
    def way(order: Order | None = Order.CDAB, **more: object) -> dict[str, str]:
        found = mapped(entry("ph", 0, type="float32", order=None, **more))
        return read_by(found, "ph", order=order, span=None, unit="s.u.", step="0.01")

    assert differences(way(), way(note="see page 4", evidence="forum")) == ()
    assert differences(way(), way(high=14)) == ("ph.high: none, now 14",)
    assert differences(way(), way(scale="0.1")) == ("ph.scale: 1, now 0.1",)
    assert differences(way(), way(order=Order.ABCD)) == ("byte order: CDAB, now ABCD",)
    assert differences(way(), way(missing=[0xFFFFFFFF])) != ()


def of_status(**status: object) -> dict[str, str]:
    """How a value with a status register is read."""
    says = {"quality": {0: "good", 1: "bad"}, "codes": {0: "measuring", 1: "fault"}}
    address = status.pop("address", 9)
    state = entry("state", address, type="uint16", unit=None, kind="status", **{**says, **status})
    found = mapped(entry("ph", 0, type="float32", order="ABCD", status="state"), state)
    return read_by(found, "ph", order=None, span=None, unit="s.u.", step="0.010")


@pytest.mark.parametrize(
    "status",
    [
        {"quality": {0: "good", 1: "good"}},
        {"quality": {0: "good", 1: "bad", "other": "bad"}},
        {"address": 10},
    ],
)
def test_another_meaning_of_its_status_asks_for_a_new_comparison(
    status: dict[str, object],
) -> None:
    assert differences(of_status(), of_status(**status))
    again = of_status(quality={1: "bad", 0: "good"}, codes={1: "fault", 0: "measuring"})
    assert differences(of_status(), again) == ()


def test_a_confirmation_of_before_the_step_was_kept_is_completed_and_not_ended() -> None:
    now = of_status()
    newer = ("low", "high", "modulus", "says_quality", "status_codes", "rollover_register")
    old = {
        key: text
        for key, text in now.items()
        if not key.startswith("state.") and key != "step" and key.rpartition(".")[2] not in newer
    }
    assert completed(old, now) == now
    assert differences(completed({**old, "ph.scale": "0.1"}, now), now) == ("ph.scale: 0.1, now 1",)
    assert completed(now, {**now, "step": "0.1"}) == now


def test_a_value_that_is_not_usable_agrees_with_no_display() -> None:
    odd = [Candidate(order=Order.BADC, value=Decimal("7.02"), is_usable=False)]
    found = compare(Decimal("7.02"), odd, resolution=Decimal("0.01"))
    assert found.orders == () and "7.02 (not usable) as BADC" in found.says


def test_a_display_at_nought_cannot_settle_an_order_and_one_that_fits_it_can() -> None:
    zero = compare(
        Decimal("0.00"),
        candidates({Order.ABCD: "1E+9", Order.BADC: "2.5E-20"}),
        resolution=Decimal("0.01"),
    )
    assert settled({"flow": zero})[0] is None
    assert settled({"flow": zero, "ph": agreement(Order.BADC)})[0] is Order.BADC
    assert settled({"flow": zero, "ph": agreement(Order.BADC, Order.CDAB)})[0] is None


@pytest.mark.parametrize(
    ("step", "parameter", "unit", "spread", "is_refused"),
    [
        ("20", Parameter.PH, Unit.SU, None, True),
        ("0.1", Parameter.PH, Unit.SU, None, False),
        ("0", Parameter.TSS, Unit.MG_L, None, True),
        ("1", Parameter.TEMPERATURE, Unit.DEG_F, None, False),
        ("2", Parameter.TEMPERATURE, Unit.DEG_F, None, True),
        ("1000", Parameter.COPPER, Unit.UG_L, None, False),
        ("1001", Parameter.COPPER, Unit.UG_L, None, True),
        ("1", Parameter.FLOW, Unit.GPM, Decimal(500), False),
        ("10", Parameter.FLOW, Unit.GPM, Decimal(500), True),
        ("1", Parameter.FLOW, Unit.MGD, None, True),
    ],
)
def test_a_step_too_coarse_to_tell_anything_is_refused(
    step: str, parameter: Parameter, unit: Unit, spread: Decimal | None, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(InputError, match="step is"):
            steps.check(Decimal(step), parameter, unit, spread=spread)
    else:
        steps.check(Decimal(step), parameter, unit, spread=spread)


def test_a_register_that_scales_the_value_belongs_to_how_it_is_read() -> None:
    def way(exponent: int) -> dict[str, str]:
        power = entry("power", exponent, type="int16", unit=None, kind="config")
        found = mapped(entry("flow", 0, unit="m3/h", exponent_register="power"), power)
        return read_by(found, "flow", order=None, span=None, unit="m3/h", step="0.1")

    assert differences(way(10), way(10)) == ()
    assert differences(way(10), way(11)) == ("power.address: 10, now 11",)


def test_instants_outside_every_span_do_not_count() -> None:
    spans = (Counting(since_us=10, until_us=20), Counting(since_us=30))
    at = np.array([9, 10, 19, 20, 29, 30, 99], np.int64)
    assert uncounted(at, spans).tolist() == [True, False, False, True, True, False, False]
    assert uncounted(at, ()).all()
    assert holes(spans, since_us=0, until_us=40) == [(0, 10), (20, 30)]
    assert holes(spans, since_us=12, until_us=18) == []
    assert holes((), since_us=0, until_us=5) == [(0, 5)]


def test_what_is_not_commissioned_is_said_and_not_judged() -> None:
    assert reasons(Quality.NOT_COMMISSIONED) == "not commissioned"
    assert grade(Quality.NOT_COMMISSIONED) is Grade.NOT_COMMISSIONED
    assert UNJUDGED & Quality.NOT_COMMISSIONED
    assert reasons(Quality.ORDER_OPEN) == "byte order not confirmed"
    assert grade(Quality.ORDER_OPEN) is Grade.MISSING
    assert int(Quality.ORDER_OPEN) < 2**15  # it is stored
