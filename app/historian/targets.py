"""Where a reading of an export goes: the channel of a point and parameter, and exact numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from compliance.errors import InputError
from compliance.model.parameters import parameter
from compliance.model.units import Unit, linear, unit
from compliance.records.sites import Place

NAMED = 20
"""So many points are named where one is not known."""
LARGEST = 1e290
"""No measurement, and still a finite number in any unit."""
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Unusable(InputError):
    """A cell that cannot be used: its column, what was expected, and the repair."""

    def __init__(self, column: str, *, expected: str, repair: str) -> None:
        super().__init__(f"column {column}: expected {expected}; {repair}")
        self.column, self.expected, self.repair = column, expected, repair


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A channel, and the way of a number from the unit it is written in to the channel's."""

    channel_id: int
    own: Unit
    factor: Fraction
    offset: Fraction

    @property
    def is_plain(self) -> bool:
        """Whether numbers are taken as they are."""
        return self.factor == 1 and self.offset == 0

    def number(self, text: str) -> float:
        """A written number in the channel's unit, rounded once: to the nearest float."""
        return float(Fraction(text) * self.factor + self.offset)


class Targets:
    """The channels of this installation by point, parameter and, where needed, entry."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._points: dict[str, list[Place]] = {}
        for place in places:
            self._points.setdefault(place.point, []).append(place)

    def find(self, point: str, kind: str, spelled: str) -> Target:
        """The target of a point's parameter (``count``, or ``count:bottle`` by its entry too).

        spelled: the unit of the numbers.
        Raises: Unusable naming the column, what there is, and the repair.
        """
        place = self._place(point, kind)
        try:
            own = unit(spelled)
            factor, offset = linear(own, place.unit)
        except InputError:
            raise Unusable(
                "unit", expected=f"one that converts to {place.unit.value}", repair="correct it"
            ) from None
        return Target(channel_id=place.channel_id, own=own, factor=factor, offset=offset)

    def _place(self, point: str, kind: str) -> Place:
        if point not in self._points:
            raise Unusable("point", expected=self._points_there(point), repair="correct its code")
        name, _, entry = kind.partition(":")
        there = self._points[point]
        try:
            wanted = parameter(name)
        except InputError:
            wanted = None
        found = [place for place in there if place.parameter is wanted]
        if entry:
            found = [place for place in found if place.entry == entry.strip()]
        if len(found) == 1:
            return found[0]
        several = found or there
        names = ", ".join(sorted(_name(place, several) for place in several))
        raise Unusable(
            "parameter",
            expected=f"one of {names}",
            repair="name the entry too" if found else "correct it, or add the channel to the site",
        )

    def _points_there(self, point: str) -> str:
        if not self._points:
            return "a monitoring point of this installation, which has none: import its site first"
        near = get_close_matches(point, self._points, n=3)
        names = list(dict.fromkeys([*near, *sorted(self._points)]))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"one of the monitoring points {', '.join(names[:NAMED])}{more}"


def _name(place: Place, among: list[Place]) -> str:
    """A channel as an export names it: with its entry where the parameter alone does not do."""
    same = [other for other in among if other.parameter is place.parameter]
    entry = f":{place.entry}" if len(same) > 1 else ""
    return f"{place.point}:{place.parameter.value}{entry}"


class Meaning(dict[str, int]):
    """Texts of a column by the code of what they mean; -1 for one that means nothing.

    codes: where meanings are kept; a text is looked at once.
    """

    def __init__(self, meaning: Callable[[str], int]) -> None:
        super().__init__()
        self._meaning = meaning
        self.problems: dict[str, Unusable] = {}

    def __missing__(self, text: str) -> int:
        try:
            code = self._meaning(text.strip())
        except Unusable as problem:
            self.problems[text] = problem
            code = -1
        self[text] = code
        return code
