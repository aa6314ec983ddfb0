"""Field replicates in a count: a pair is one measurement, its mean, unless a permit counts both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

from compliance.model.noncompliance import Measured
from compliance.model.parameters import Parameter
from compliance.model.units import as_decimal, rounded

MARK = " replicate"
"""How the label of a field replicate ends; before it stands that of its routine sample."""


def once(results: Iterable[tuple[str, Measured]]) -> tuple[Measured, ...]:
    """Results by sample label, with each replicate and its routine sample made into their mean.

    Those with a qualifier, or in another unit than the routine one, stay as they are: each counts.
    """
    groups: dict[tuple[str, str, Parameter, date], list[Measured]] = defaultdict(list)
    for label, one in results:
        base = label.removesuffix(MARK)
        groups[base or f"?{one.source}", one.point, one.parameter, one.day].append(one)
    return tuple(found for parts in groups.values() for found in _merged(parts))


def _merged(parts: Sequence[Measured]) -> Iterator[Measured]:
    units = {one.unit for one in parts}
    if len(parts) < 2 or len(units) > 1 or any(one.qualifier for one in parts):
        yield from parts
        return
    mean = as_decimal(sum((Fraction(one.value) for one in parts), Fraction(0)) / len(parts))
    shown = rounded(mean, 4).normalize()
    values = ", ".join(one.written for one in parts)
    yield replace(
        parts[0],
        value=mean,
        written=f"{shown:f}",
        source=f"{parts[0].source} and its replicate: mean of {values}",
    )
