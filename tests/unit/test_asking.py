"""How one instrument is asked: in what blocks, how often again, and what is remembered."""

from __future__ import annotations

import asyncio
import sys

import pytest

from ingest import asking
from ingest.asking import Answers, Asking
from ingest.errors import BadReply, NoAnswer, Refused
from ingest.plan import Block
from tests.support.polling import Registers, entry, mapped


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSES", {5: (0.0,), 6: (0.0, 0.0)})


def ask(of, link: Registers, *, now: float = 0.0, by: Asking | None = None) -> Answers:
    return asyncio.run((by or Asking(1, of)).answers(link, list(of.entries.values()), now=now))


def refusal(code: int) -> Refused:
    return Refused("unit 1", code)


def at_most(registers: int, *, code: int = 3):
    return lambda block: refusal(code) if block.count > registers else None


def absent(*addresses: int):
    def check(block: Block) -> Refused | None:
        covers = range(block.address, block.address + block.count)
        return refusal(2) if any(a in covers for a in addresses) else None

    return check


def test_t14_nothing_outside_the_declared_registers_is_asked() -> None:
    of = mapped(entry("a", 10), entry("b", 11), entry("c", 14))
    link = Registers(dict.fromkeys(range(10, 15), 7), refused=absent(9, 12, 13, 15))
    assert ask(of, link) == {"a": (7,), "b": (7,), "c": (7,)}
    assert link.asked == [(10, 2), (14, 1)]


def test_t14_a_hole_is_found_by_halving_named_and_left_alone() -> None:
    of = mapped(*(entry(f"e{a}", a) for a in range(8)))
    link, by = Registers(dict.fromkeys(range(8), 7), refused=absent(5)), Asking(1, of)
    first = ask(of, link, by=by)
    assert [name for name, answer in first.items() if isinstance(answer, Refused)] == ["e5"]
    assert str(first["e5"]).endswith("for e5 at holding address 5")
    link.asked.clear()
    assert ask(of, link, now=10, by=by) == first
    assert sorted(link.asked) == [(0, 5), (6, 2)]
    link.asked.clear()
    ask(of, link, now=asking.HOLE_SECONDS + 1, by=by)
    assert (5, 1) in link.asked


def test_t12_a_block_refused_with_exception_3_is_read_in_parts_from_then_on() -> None:
    of = mapped(*(entry(f"e{a}", a) for a in range(8)))
    link, by = Registers(dict.fromkeys(range(8), 7), refused=at_most(2)), Asking(1, of)
    assert all(answer == (7,) for answer in ask(of, link, by=by).values())
    link.asked.clear()
    assert all(answer == (7,) for answer in ask(of, link, now=5, by=by).values())
    assert link.asked == [(0, 2), (2, 2), (4, 2), (6, 2)]


TOTAL = entry("total", 0, type="uint32", order="ABCD", unit="gal", kind="total")


def test_t12_a_value_is_never_cut_unless_the_map_allows_it() -> None:
    link = Registers({0: 1, 1: 2}, refused=at_most(1))
    answer = ask(mapped(TOTAL), link)["total"]
    assert isinstance(answer, Refused)
    assert link.asked == [(0, 2)]


def test_t12_a_map_may_allow_to_read_a_value_register_by_register() -> None:
    of = mapped(TOTAL, link={"split_values": True}, max_registers=1)
    link, by = Registers({0: 1, 1: 2}, refused=at_most(1)), Asking(1, of)
    assert ask(of, link, by=by) == {"total": (1, 2)}
    assert link.asked == [(0, 2), (0, 1), (1, 1), (0, 1)]
    link.asked.clear()
    assert ask(of, link, now=1, by=by) == {"total": (1, 2)}
    assert link.asked == [(0, 1), (1, 1), (0, 1)]


def test_t12_a_value_that_rolled_over_between_its_registers_is_refused() -> None:
    class Rolling(Registers):
        async def read(self, unit: int, block: Block, wire: object) -> tuple[int, ...]:
            words = await super().read(unit, block, wire)
            self.held = {0: 2, 1: 0}  # 1:65535 has become 2:0
            return words

    of = mapped(TOTAL, link={"split_values": True})
    answer = ask(of, Rolling({0: 1, 1: 65535}, refused=at_most(1)))["total"]
    assert isinstance(answer, BadReply)
    assert "of two instants" in str(answer)


def test_t13_one_request_for_each_entry_where_the_map_says_so() -> None:
    of = mapped(entry("a", 0), entry("b", 1), link={"one_request_per_entry": True})
    link = Registers({0: 1, 1: 2})
    assert ask(of, link) == {"a": (1,), "b": (2,)}
    assert link.asked == [(0, 1), (1, 1)]


def test_whole_items_where_the_map_says_so() -> None:
    of = mapped(entry("a", 0), entry("b", 4), link={"multiple_of": 2})
    link = Registers(dict.fromkeys(range(6), 7))
    assert ask(of, link) == {"a": (7,), "b": (7,)}
    assert link.asked == [(0, 2), (4, 2)]


@pytest.mark.parametrize(
    ("code", "tries"), [(5, 2), (6, 3), (1, 1), (4, 1), (8, 1), (10, 1), (11, 1)]
)
def test_each_exception_is_asked_again_as_often_as_it_helps(code: int, tries: int) -> None:
    link = Registers({0: 7}, moods=[refusal(code)] * 9)
    answer = ask(mapped(entry("a", 0)), link)["a"]
    assert isinstance(answer, Refused)
    assert answer.code == code
    assert len(link.asked) == tries


def test_ing_09_a_busy_instrument_that_recovers_gives_its_value() -> None:
    link = Registers({0: 7}, moods=[refusal(6), refusal(6)])
    assert ask(mapped(entry("a", 0)), link) == {"a": (7,)}


@pytest.mark.parametrize("mood", [NoAnswer("silence"), refusal(10), refusal(11)])
def test_after_a_silence_or_the_gateways_own_word_nothing_more_is_asked(mood) -> None:
    of = mapped(entry("a", 0), entry("b", 50), entry("c", 90))
    link = Registers({0: 7, 50: 7, 90: 7}, moods=[mood])
    assert ask(of, link) == dict.fromkeys("abc", mood)
    assert len(link.asked) == 1


def test_a_refusal_of_one_block_does_not_keep_the_others_from_being_read() -> None:
    of = mapped(entry("a", 0), entry("b", 50))
    link = Registers({50: 7}, refused=lambda block: refusal(4) if block.address == 0 else None)
    assert ask(of, link)["b"] == (7,)


def test_an_instrument_that_sleeps_is_woken_and_asked_again() -> None:
    of = mapped(entry("a", 0), entry("b", 50), link={"wake_up_s": 10})
    by = Asking(1, of)
    sleepy = Registers({0: 7, 50: 8}, moods=[NoAnswer("asleep")])
    assert ask(of, sleepy, by=by) == {"a": (7,), "b": (8,)}
    awake = Registers({0: 7, 50: 8}, moods=[NoAnswer("gone")])
    assert all(isinstance(a, NoAnswer) for a in ask(of, awake, now=5, by=by).values())
    asleep = Registers({0: 7, 50: 8}, moods=[NoAnswer("asleep")])
    assert ask(of, asleep, now=12, by=by) == {"a": (7,), "b": (8,)}
    dead = Registers({0: 7, 50: 8}, moods=[NoAnswer("gone")] * 5)
    assert all(isinstance(a, NoAnswer) for a in ask(of, dead, now=60, by=by).values())
    assert len(dead.asked) == 2


def test_t5_a_hundred_thousand_exceptions_leave_nothing_behind() -> None:
    of = mapped(entry("a", 0))
    by = Asking(1, of)

    async def refuse(times: int) -> None:
        for _ in range(times):
            await by.answers(
                Registers({}, moods=[refusal(0x0B)]), list(of.entries.values()), now=0.0
            )

    asyncio.run(refuse(1_000))
    before = sys.getallocatedblocks()
    asyncio.run(refuse(100_000))
    assert sys.getallocatedblocks() - before < 2_000
