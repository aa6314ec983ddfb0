"""How a sample of each parameter is taken, kept and analysed (40 CFR 136), as data."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Self

import yaml
from pydantic import Field, model_validator

from compliance.model.parameters import Parameter
from compliance.rules.schema import Number, Strict, Words


class Method(Strict):
    """What is asked of samples of some parameters.

    hours: from the end of the sample to its analysis. methods: words, in small letters, of which
    the method that a laboratory names must hold one; none: not checked. late_lowers: analysed late
    it can only have lost. confirmed: whether the figure was read in the text itself.
    """

    parameters: tuple[Parameter, ...] = Field(min_length=1)
    grab_only: bool
    hours: Number
    warmest_c: Number | None = None
    keep: Words
    methods: tuple[str, ...]
    confirmed: bool
    late_lowers: bool = False


class Sources(Strict):
    """Where each demand stands."""

    grab: Words
    hold: Words
    method: Words


class MethodTable(Strict):
    """The table."""

    methods: Words
    sources: Sources
    rows: tuple[Method, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        seen: set[Parameter] = set()
        for one in (parameter for row in self.rows for parameter in row.parameters):
            if one in seen:
                raise ValueError(f"names {one.value} twice")
            seen.add(one)
        return self


@cache
def method_table() -> MethodTable:
    """The table of this release."""
    file = resources.files("compliance.rules") / "program" / "methods.yaml"
    return MethodTable.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def method_of(parameter: Parameter) -> Method | None:
    """What is asked for a parameter; None where the table has nothing on it."""
    return next((row for row in method_table().rows if parameter in row.parameters), None)
