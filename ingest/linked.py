"""An entry with the registers that qualify, scale and name it, pure.

Some instruments keep the unit, a power of ten or a multiplier in registers of their own. A value is
decoded only together with them: without its multiplier it would be a wrong number that looks right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from compliance.errors import InputError
from compliance.model.readings import Quality
from compliance.model.register_map import Entry, Order, RegisterMap
from compliance.model.units import Unit, dimension, linear, unit
from ingest.decode import EXACT, Decoded, decode_entry

Words = Sequence[int] | Quality
"""An entry's registers, or why they were not read."""

MOST_EXPONENT = 30
"""A power of ten beyond this is no scale but another register read by mistake."""

_NEVER = "its unit register does not give it in a unit that the channel's can be told from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An entry as a channel wants it, with the entries that it is decoded by.

    order: that of the instrument, used where the map leaves it open. resolution: the step to round
    to; None leaves every digit. span: the range of an entry that gives a share. unit: that of the
    channel. status, unit_code, exponent, multiplier: the entries that it is decoded by.
    """

    entry: Entry
    order: Order | None = None
    resolution: Decimal | None = None
    span: tuple[Decimal, Decimal] | None = None
    unit: Unit | None = None
    status: Entry | None = None
    unit_code: Entry | None = None
    exponent: Entry | None = None
    multiplier: Entry | None = None

    @property
    def scaling(self) -> tuple[Entry, ...]:
        """The entries that change how its number is read."""
        found = (self.unit_code, self.exponent, self.multiplier)
        return tuple(entry for entry in found if entry is not None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries to be read for it, each once, its own first."""
        found = (self.entry, self.status, *self.scaling)
        return tuple({entry.name: entry for entry in found if entry is not None}.values())


def wanted(
    of: RegisterMap,
    name: str,
    *,
    order: Order | None = None,
    resolution: Decimal | None = None,
    span: tuple[Decimal, Decimal] | None = None,
    unit: Unit | None = None,
) -> Wanted:
    """An entry of a map as a channel wants it.

    Raises: InputError for an entry that the map has not, a share without a span, a unit that
    measures something else, a map that does not know where the instrument's block begins.
    """
    refuse_open_base(of)
    entry = of.entries.get(name)
    if entry is None:
        known = ", ".join(of.entries)
        raise InputError(f"{of.name}: no entry {name!r}; expected one of {known}")
    if entry.share and span is None:
        raise InputError(f"{of.name}: {name} is a share of a span; set the channel's span")
    if entry.unit is not None and unit is not None:
        linear(entry.unit, unit)
    return Wanted(
        entry=entry,
        order=order,
        resolution=resolution,
        span=span,
        unit=unit,
        status=_of(of, entry.status),
        unit_code=_unit_code(of, entry, unit),
        exponent=_of(of, entry.exponent_register),
        multiplier=_of(of, entry.multiplier_register),
    )


def refuse_open_base(of: RegisterMap) -> None:
    """Nothing can be read by a map whose addresses count from an unknown start.

    Raises: InputError saying how to make a map that can.
    """
    if of.base_open:
        raise InputError(
            f"{of.name}: the map does not know where the instrument's block begins; "
            f"make a map of your own with inherits: {of.name} and its base_address"
        )


def _of(of: RegisterMap, name: str | None) -> Entry | None:
    return None if name is None else of.entries[name]


def _unit_code(of: RegisterMap, entry: Entry, unit: Unit | None) -> Entry | None:
    """The register that names an entry's unit, where the map knows what its codes mean."""
    own = _of(of, entry.unit_register)
    if own is not None and own.codes:
        return own
    if unit is not None and dimension(unit) == "temperature":
        return _of(of, entry.temperature_register)
    return None


def decode_linked(of: Wanted, words: Mapping[str, Words]) -> Decoded:
    """A value by all its registers, rounded once.

    words: by the name of each entry of ``of.entries``. An unread value, exponent or multiplier
    leaves no value and its own reason, and so does an unread unit that the map does not know; an
    unread status leaves the value in doubt. A unit that cannot be told in the channel's is bad.
    Raises: InputError for words that do not fit.
    """
    own = words[of.entry.name]
    if isinstance(own, Quality):
        return Decoded(value=None, quality=own)
    scaled = scaling(of, words)
    if isinstance(scaled, Decoded):
        return scaled
    entry, doubt = scaled
    status, unread = _status(of, words)
    decoded = decode_entry(
        entry,
        own,
        order=of.order,
        status_word=status,
        resolution=of.resolution,
        span=of.span,
        unit=of.unit,
    )
    return replace(decoded, quality=decoded.quality | doubt | unread)


def scaling(of: Wanted, words: Mapping[str, Words]) -> tuple[Entry, Quality] | Decoded:
    """The entry with the scale and unit that its registers give now, and what doubt they leave.

    Gives the answer itself where there can be no value.
    """
    if not of.scaling:
        return of.entry, Quality.GOOD
    factor = Decimal(1)
    for linked in (of.exponent, of.multiplier):
        if linked is not None:
            found = _factor(linked, words[linked.name], of)
            if isinstance(found, Decoded):
                return found
            factor = EXACT.multiply(factor, found)
    named, doubt = _named_unit(of, words)
    if doubt and named is None:
        return Decoded(value=None, quality=doubt, reason=_NEVER)
    scale = EXACT.multiply(of.entry.scale, factor)
    return replace(of.entry, scale=scale, unit=named), doubt


def _factor(linked: Entry, words: Words, of: Wanted) -> Decimal | Decoded:
    """What a linked register multiplies by."""
    if isinstance(words, Quality):
        reason = f"{linked.name}, which multiplies it, was not read"
        return Decoded(value=None, quality=words, reason=reason)
    decoded = decode_entry(linked, words, order=of.order)
    value = decoded.value
    if value is None:
        quality = decoded.quality or Quality.NOT_FINITE
        reason = f"{linked.name}, which multiplies it, has no value: {decoded.reason}"
        return Decoded(value=None, quality=quality, reason=reason)
    if linked is of.exponent:
        value = Decimal(1).scaleb(int(value)) if abs(value) <= MOST_EXPONENT else Decimal(0)
    if value == 0:
        reason = f"{linked.name}, which multiplies it, is {decoded.value}"
        return Decoded(value=None, quality=Quality.NOT_FINITE, reason=reason)
    return value


def _named_unit(of: Wanted, words: Mapping[str, Words]) -> tuple[Unit | None, Quality]:
    """The unit that the instrument says its value has, and what doubt there is about it."""
    if of.unit_code is None or of.unit is None:
        return of.entry.unit, Quality.GOOD
    code = words[of.unit_code.name]
    if isinstance(code, Quality):
        known = of.entry.unit is not None
        return of.entry.unit, Quality.STATUS_UNCERTAIN if known else code
    try:
        named = unit(of.unit_code.codes[code[0]])
        if of.unit is not None:
            linear(named, of.unit)
    except (KeyError, InputError):
        return None, Quality.STATUS_BAD
    return named, Quality.GOOD


def _status(of: Wanted, words: Mapping[str, Words]) -> tuple[int | None, Quality]:
    """The word of its status register; unread, it leaves a doubt."""
    if of.status is None:
        return None, Quality.GOOD
    word = words[of.status.name]
    if isinstance(word, Quality):
        return None, Quality.STATUS_UNCERTAIN
    return word[0], Quality.GOOD
