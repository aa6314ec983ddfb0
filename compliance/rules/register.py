"""Registers: every clause of a text, and who judges it: the program, a person, or nobody yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import Field, model_validator

from compliance.errors import UnknownRule
from compliance.model.findings import Authority
from compliance.rules import book
from compliance.rules.accounting import unaccounted
from compliance.rules.parts import RULE_ID, Judge, Strict, Words
from compliance.rules.reading import read

Anchor = Annotated[str, Field(min_length=2, max_length=80)]


class ClauseKind(StrEnum):
    """What a clause does."""

    DUTY = "duty"
    POWER = "power"
    PROHIBITION = "prohibition"
    NUMBER = "number"
    CLOCK = "clock"
    CHARGE = "charge"
    CONSEQUENCE = "consequence"
    POLICY = "policy"
    DEFINITION = "definition"
    HEADING = "heading"
    HISTORY = "history"


SILENT = frozenset({ClauseKind.DEFINITION, ClauseKind.HEADING, ClauseKind.HISTORY})
"""They lay nothing on anybody by themselves: there is nothing to judge."""


class Row(Strict):
    """A clause: our reading of its number, what it says in our words, and who judges it.

    anchors: a few words of each of its sentences, in the order of the text; none where we hold no
    text. rules: those that carry it; done_by: the part of the program that does, without a rule.
    """

    clause: Words
    kind: ClauseKind
    says: str | None = None
    anchors: tuple[Anchor, ...] = ()
    judged_by: Judge | None = None
    rules: tuple[Annotated[str, Field(pattern=RULE_ID)], ...] = ()
    done_by: str | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _accounted(self) -> Self:
        if self.judged_by is None:
            if self.kind not in SILENT:
                raise ValueError(f"is a {self.kind.value}, so it needs judged_by")
            return self
        if not self.says:
            raise ValueError("is judged, so it needs says: what it asks, in a few words")
        if self.judged_by is Judge.PROGRAM and not (self.rules or self.done_by):
            raise ValueError("is judged by the program, so it needs rules or done_by")
        if self.judged_by is not Judge.PROGRAM and not self.reason:
            raise ValueError(f"is judged by {self.judged_by.value}, so it needs a reason")
        return self


class MissingText(Strict):
    """A text that we lack, what it blocks, and rules that have no number or stand in for it."""

    text: Words
    blocks: Words
    rules: tuple[Annotated[str, Field(pattern=RULE_ID)], ...] = ()


class Register(Strict):
    """The register of one text. text: the file its anchors stand in; null: none is held."""

    register_of: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: Words
    text: str | None
    missing: tuple[MissingText, ...] = ()
    clauses: tuple[Row, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _anchored(self) -> Self:
        for row in self.clauses:
            if (self.text is not None) != bool(row.anchors):
                raise ValueError(
                    f"has {'no' if self.text else 'an'} anchor at {row.clause}; expected anchors "
                    "in every row of a text that is held, and none of one that is not"
                )
        return self

    def counts(self) -> dict[str, int]:
        """How many clauses each judges; ``nothing to judge`` for definitions and headings."""
        found = Counter(
            "nothing to judge" if row.judged_by is None else CALLED[row.judged_by]
            for row in self.clauses
        )
        return {name: found[name] for name in (*CALLED.values(), "nothing to judge")}

    def faults(self, text: str) -> tuple[str, ...]:
        """What of a text is not accounted for, a sentence each; empty where all is."""
        anchors = [(row.clause, anchor) for row in self.clauses for anchor in row.anchors]
        return unaccounted(text, anchors)


CALLED = {Judge.PROGRAM: "program", Judge.PERSON: "person", Judge.NOBODY: "not automated"}
"""How judges are named to people."""


@cache
def registers() -> Mapping[str, Register]:
    """The registers of this release by name, read once."""
    folder = resources.files(__package__) / "registers"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".yaml")),
        key=lambda entry: entry.name,
    )
    read_ones = [parse(entry.read_text(encoding="utf-8"), entry.name) for entry in files]
    return MappingProxyType({one.register_of: one for one in read_ones})


def register(name: str) -> Register:
    """The register of that name. Raises: UnknownRule naming those there are."""
    found = registers().get(name)
    if found is None:
        known = ", ".join(sorted(registers()))
        raise UnknownRule(f"there is no register {name!r}; expected one of {known}, or a file")
    return found


def parse(text: str, file: str) -> Register:
    """Read one register. Raises: RuleError in one sentence."""
    rows = {"clauses": "clause clause", "missing": "text text"}
    return read(Register, text, file, keys="register_of, title, text, clauses", rows=rows)


def misnamed(of: Register) -> Iterator[str]:
    """Rules that a register names wrongly, a sentence each: unknown, or judged by another.

    A rule of the program's own authority, such as screening, may stand beside any judge.
    """
    for place, ids in ((one.text, one.rules) for one in of.missing):
        yield from _unknown(place, ids)
    for row in of.clauses:
        if unknown := tuple(_unknown(row.clause, row.rules)):
            yield from unknown
            continue
        found = [book.find(rule_id)[1] for rule_id in row.rules]
        judges = {rule.judged_by for rule in found if rule.authority is not Authority.PROGRAM}
        if judges and row.judged_by not in judges:
            yield f"{row.clause}: its rules are judged by {', '.join(sorted(judges))}"


def _unknown(place: str, ids: tuple[str, ...]) -> Iterator[str]:
    for rule_id in ids:
        try:
            book.find(rule_id)
        except UnknownRule as error:
            yield f"{place}: {error}"
