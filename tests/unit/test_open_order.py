"""A value whose byte order nobody has confirmed is polled, kept as registers, and never decoded."""

from __future__ import annotations

from dataclasses import replace

from compliance.model.readings import Quality, Reading, reasons
from compliance.model.register_map import RegisterMap
from compliance.records.sites import InstrumentPlan
from ingest.unit import Unit
from tests.support.faulty import Asked, Scripted
from tests.support.polling import channel, entry, instrument, mapped, rounds

WORDS = {0: 0xA3D7, 1: 0x40E0, 2: 213, 3: 1}


def held(asked: Asked) -> object:
    return [WORDS[a] for a in range(asked.address, asked.address + asked.count)]


def polled(found: RegisterMap, *, order: str | None) -> tuple[list[Reading], Unit]:
    names = [name for name, each in found.entries.items() if each.unit is not None]
    channels = tuple(channel(n, name) for n, name in enumerate(names, start=1))
    planned = InstrumentPlan(instrument=replace(instrument(1), order=order), channels=channels)
    unit = Unit(planned, found)
    return rounds(Scripted(held), [unit], 1), unit


OPEN = entry("ph", 0, type="float32", order=None)
KNOWN = entry("other", 2, scale="0.01")


def test_an_open_order_leaves_no_number_but_the_registers_and_the_reason() -> None:
    (ph, other), unit = polled(mapped(OPEN, KNOWN), order=None)
    assert (ph.value, ph.quality, ph.words) == (None, Quality.ORDER_OPEN, (0xA3D7, 0x40E0))
    assert reasons(ph.quality) == "byte order not confirmed"
    assert (other.value, other.quality) == (2.13, Quality.GOOD)
    assert unit.undecoded == "byte order of ph not confirmed"


def test_with_an_order_it_is_a_number() -> None:
    (ph, _), unit = polled(mapped(OPEN, KNOWN), order="CDAB")
    assert (ph.value, ph.quality) == (7.02, Quality.GOOD)
    assert unit.undecoded == ""


def test_a_value_whose_multiplier_has_an_open_order_is_no_number_either() -> None:
    factor = entry("factor", 0, type="float32", order=None, unit=None, kind="config")
    (other,), _ = polled(mapped(factor, {**KNOWN, "multiplier_register": "factor"}), order=None)
    assert (other.value, other.quality) == (None, Quality.ORDER_OPEN)
