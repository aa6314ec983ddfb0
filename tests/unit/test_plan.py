"""Read requests: every register once, no value cut, no gap crossed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.register_map import Entry, RegisterMap, RegisterType, Table, Wire
from ingest import library
from ingest.plan import Block, plan, plan_map, split


def entry(address: int, words: int = 1, table: Table = Table.HOLDING) -> Entry:
    name = f"{table}{address}"
    kind = RegisterType.STRING
    return Entry(name=name, table=table, address=address, printed="", type=kind, words=words)


def mapped(entries: Iterable[Entry], **more: object) -> RegisterMap:
    head = dict.fromkeys(("name", "vendor", "model", "role", "document"), "m")
    return RegisterMap(
        **head,
        **{"sources": (), "quirks": (), "max_registers": None, "needs_write": False, **more},
        entries={each.name: each for each in entries},
    )


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    made, address = [], 0
    for gap, words in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=80)):
        address += gap
        table = draw(st.sampled_from(Table))
        made.append(entry(address, words, table))
        address += words
    return draw(st.permutations(made))


@given(entries(), st.integers(9, 200))
def test_every_register_is_planned_once_and_nothing_else(asked, cap):
    blocks = plan(asked, max_registers=cap)
    planned = [(b.table, a) for b in blocks for a in range(b.address, b.address + b.count)]
    wanted = [(e.table, a) for e in asked for a in range(e.address, e.end)]
    assert sorted(planned) == sorted(wanted)
    assert all(block.count <= min(cap, 125) for block in blocks)


@given(entries())
def test_a_block_hands_each_entry_its_own_words(asked):
    for block in plan(asked):
        answer = tuple(range(block.address, block.address + block.count))
        for one in block.entries:
            assert block.words(one, answer) == tuple(range(one.address, one.end))


def test_an_unasked_register_between_two_tags_is_never_read():
    blocks = plan([entry(11177), entry(11174), entry(11176)])  # 11175 does not exist
    assert [(block.address, block.count) for block in blocks] == [(11174, 1), (11176, 2)]


@given(entries(), st.integers(9, 125), st.booleans())
def test_all_words_of_a_value_come_in_one_request(asked, cap, alone):
    wire = Wire(one_request_per_entry=alone)
    blocks = plan_map(asked, mapped(asked, max_registers=cap, wire=wire))
    assert sorted(e.name for b in blocks for e in b.entries) == sorted(e.name for e in asked)
    for block in blocks:
        assert len(block.entries) == 1 or not alone
        for one in block.entries:
            assert block.address <= one.address
            assert one.end <= block.address + block.count


def test_a_meter_that_answers_whole_items_only_is_asked_for_an_even_number():
    found = library.load("abb-aquamaster3")
    blocks = plan_map(found.entries.values(), found)
    assert [(b.address, b.count) for b in blocks] == [(1020, 2), (5016, 4), (12002, 6)]
    halves = split(blocks[2], multiple_of=found.wire.multiple_of)
    assert [(b.address, b.count) for b in halves] == [(12002, 2), (12004, 4)]
    assert blocks[0].words(blocks[0].entries[0], (7, 99)) == (7,)


def test_a_wide_register_answers_with_two_words():
    asked = [entry(0xAA, 2, Table.INPUT), entry(0xAB, 2, Table.INPUT)]
    block = plan([replace(one, wide=True) for one in asked])[0]
    assert (block.count, block.answer_words) == (2, 4)
    assert [block.words(one, (1, 2, 3, 4)) for one in block.entries] == [(1, 2), (3, 4)]


def test_two_names_for_the_same_registers_are_read_once():
    flow = entry(4, 2, Table.INPUT)
    level = replace(flow, name="level", alternative_to=flow.name)
    blocks = plan([flow, level, entry(6, 2, Table.INPUT)])
    assert [(b.address, b.count, len(b.entries)) for b in blocks] == [(4, 4, 3)]


def test_splitting_a_refused_block_ends_at_the_bad_entry_alone():
    waiting, alone = list(plan([entry(a) for a in range(7)])), []
    while waiting:
        halves = split(waiting.pop())
        alone += halves if len(halves) == 1 else ()
        waiting += halves if len(halves) > 1 else ()
    assert sorted(block.address for block in alone) == list(range(7))


def test_a_printed_40108_of_three_registers_asks_for_address_107():
    block = plan([entry(107, 3)])[0]
    assert (block.table.function, block.address, block.count) == (3, 0x006B, 3)


@pytest.mark.parametrize("name", library.names())
def test_every_map_of_the_package_can_be_planned(name):
    blocks: tuple[Block, ...] = plan(library.load(name).entries.values())
    assert sum(len(block.entries) for block in blocks) == len(library.load(name).entries)
