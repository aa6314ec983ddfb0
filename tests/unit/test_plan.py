"""Read requests: every register once, no value cut, no gap crossed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.model.register_map import Entry, RegisterType, Table
from ingest import library
from ingest.plan import Block, plan, split


def entry(address: int, words: int = 1, table: Table = Table.HOLDING) -> Entry:
    name = f"{table}{address}"
    kind = RegisterType.STRING
    return Entry(name=name, table=table, address=address, printed="", type=kind, words=words)


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
