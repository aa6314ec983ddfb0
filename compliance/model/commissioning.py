"""Commissioning: when a channel's readings count, and whether registers agree with a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Context, Decimal

import numpy as np

from compliance.model.readings import Flags, Times
from compliance.model.register_map import Entry, Order, RegisterMap

STEP = "step"
_LINKS = (
    *("exponent_register", "multiplier_register", "unit_register", "temperature_register"),
    *("rollover_register", "status"),
)
"""The links of an entry that change what number its registers are, or how good it is."""
_UNREAD = (
    *("name", "printed", "evidence", "misprint", "verify", "note", "kind", "unit_text"),
    *("resolution", "alternative_to", "time_register"),
)
"""Fields of an entry that change neither number nor quality: mended without a new comparison."""
_NEWER = frozenset(
    ("rollover_register", "modulus", "says_quality", "low", "high")
    + ("status", "status_codes", "status_other", "status_by_bit")
)
"""Fields that a confirmation of before did not keep, nor the channel's step."""
_SEVEN = Context(prec=7)
_POWERS = (1, -1, 2, -2, 3, -3)
"""Powers of ten by which a scale is commonly wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """A span in which a channel's readings count: ``[since_us, until_us)``, open while None."""

    since_us: int
    until_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What registers say in one order; no value where they say none. order: None where known.

    is_usable: of good quality and inside its range; one that is not agrees with nothing.
    """

    order: Order | None
    value: Decimal | None
    is_usable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Which orders give what a display shows, and what else there is to say.

    orders: those that agree; says: one sentence for the person before the display; proves: whether
    it can tell orders apart. A display at 0 cannot: registers in a wrong order are often nearly 0.
    """

    orders: tuple[Order | None, ...]
    says: str
    proves: bool = True


def uncounted(at_us: Times, spans: Sequence[Counting]) -> Flags:
    """Which instants lie in no span."""
    outside = np.ones(len(at_us), np.bool_)
    for span in spans:
        inside = at_us >= span.since_us
        if span.until_us is not None:
            inside &= at_us < span.until_us
        outside &= ~inside
    return outside


def holes(spans: Sequence[Counting], *, since_us: int, until_us: int) -> list[tuple[int, int]]:
    """The parts of ``[since_us, until_us)`` in which nothing counts, in time order."""
    found, at = [], since_us
    for span in sorted(spans, key=lambda one: one.since_us):
        begins = min(span.since_us, until_us)
        if begins > at:
            found.append((at, begins))
        at = max(at, until_us if span.until_us is None else span.until_us)
    if at < until_us:
        found.append((at, until_us))
    return found


def compare(display: Decimal, candidates: Sequence[Candidate], *, resolution: Decimal) -> Agreement:
    """Which orders give the display's value, rounded to within one step of the coarser of the two.

    display: as it was typed, in the unit of the candidates; its last digit is the display's step.
    resolution: that of the channel.
    """
    step = max(resolution, Decimal(1).scaleb(int(display.as_tuple().exponent)))
    agree = tuple(c.order for c in candidates if c.is_usable and _is_near(c.value, display, step))
    if agree and agree != (None,) and _is_near(Decimal(0), display, step):
        return Agreement(orders=agree, says="a display at 0 proves no order", proves=False)
    if agree:
        names = " and ".join(str(order) for order in agree if order is not None)
        return Agreement(orders=agree, says=f"{names} agrees" if names else "it agrees")
    read = ", ".join(_read(c) for c in candidates)
    hint = _scale_hint(display, candidates, step)
    return Agreement(orders=(), says=f"the display shows {display}, the registers {read}{hint}")


def _is_near(value: Decimal | None, display: Decimal, step: Decimal) -> bool:
    """Whether two roundings of one number can lie so far apart."""
    return value is not None and 2 * abs(value - display) < 3 * step


def _read(one: Candidate) -> str:
    value = "no value" if one.value is None else short(one.value)
    value = value if one.is_usable else f"{value} (not usable)"
    return value if one.order is None else f"{value} as {one.order}"


def short(value: Decimal) -> str:
    """A number to seven digits, for comparing with the eye."""
    cut = _SEVEN.plus(value).normalize()
    return f"{cut:f}" if -7 < cut.adjusted() < 12 else f"{cut:g}"


def _scale_hint(display: Decimal, candidates: Sequence[Candidate], step: Decimal) -> str:
    for power in _POWERS:
        factor = Decimal(1).scaleb(power)
        for one in candidates:
            if not (display and one.is_usable):
                continue
            if one.value is not None and _is_near(one.value * factor, display, step):
                order = "" if one.order is None else f" as {one.order}"
                return f"; times {factor:f} it would agree{order}: correct the scale in the map"
    return ""


def settled(open_entries: Mapping[str, Agreement]) -> tuple[Order | None, str]:
    """The one order in which all entries that the map leaves open agree, or why there is none.

    open_entries: by name, those that were compared; without any there is nothing to settle.
    """
    if not open_entries:
        return None, ""
    silent = [name for name, one in open_entries.items() if not one.orders]
    if silent:
        return None, f"no order gives what the display shows for {', '.join(silent)}"
    common = set(Order).intersection(*(one.orders for one in open_entries.values()))
    proven = [one.orders for one in open_entries.values() if one.proves]
    if len(common) == 1 and len(set(Order).intersection(*proven)) == 1:
        return common.pop(), ""
    if not common:
        return None, (
            f"{', '.join(open_entries)} agree in different orders; an instrument has one: "
            "give each its own order in a map of your own"
        )
    return None, (
        f"{' and '.join(sorted(common))} give what the display shows, which proves no order; "
        "read again when it shows a value that is not 0"
    )


def read_by(
    of: RegisterMap,
    name: str,
    *,
    order: Order | None,
    span: tuple[str, str] | None,
    unit: str,
    step: str,
) -> dict[str, str]:
    """Everything that decides which number an entry's registers are and how good, as plain text.

    Two of them that are equal read any registers as the same number of the same quality.
    step: the channel's resolution.
    """
    entry = of.entries[name]
    linked = [getattr(entry, link) for link in _LINKS]
    read = [entry, *(of.entries[link] for link in linked if link is not None)]
    found = {f"{e.name}.{key}": text for e in read for key, text in _meaning(e).items()}
    if any(e.needs_order and e.order is None for e in read):
        found["byte order"] = str(order or "open")
    if entry.share:
        found["span"] = " to ".join(span) if span else "open"
    return {**found, "unit": unit, STEP: f"{Decimal(step).normalize():f}"}


def _meaning(entry: Entry) -> dict[str, str]:
    names = (field.name for field in fields(entry))
    return {name: _plain(getattr(entry, name)) for name in names if name not in _UNREAD}


def _plain(value: object) -> str:
    """The same text for the same meaning, in whatever order a file lists its codes."""
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{code} {value[code]!s}" for code in sorted(value))


def completed(kept: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """What a confirmation kept; where it is of before the step was kept, with what that left out.

    What it did not keep is taken to be as it is now.
    """
    if STEP in kept:
        return dict(kept)
    newer = ("codes", *_NEWER)  # codes were kept in the order of the file
    links = {text for key, text in now.items() if key.endswith((".status", ".rollover_register"))}
    left_out = {
        key: text
        for key, text in now.items()
        if key == STEP or key.rpartition(".")[2] in newer or key.rpartition(".")[0] in links
    }
    return {**kept, **left_out}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What two ways to read an entry differ in, a few words each."""
    keys = sorted({*before, *after})
    return tuple(
        f"{key}: {_shown(before.get(key))}, now {_shown(after.get(key))}"
        for key in keys
        if before.get(key) != after.get(key)
    )


def _shown(text: str | None) -> str:
    return "absent" if text is None else "none" if text in ("", "None") else text
