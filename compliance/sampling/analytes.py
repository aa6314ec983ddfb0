"""What a laboratory calls an analyte and its unit, in our words; one never passes for another."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from compliance.errors import InputError
from compliance.model.parameters import CONCENTRATIONS, Parameter, parameter
from compliance.model.units import Quantity, Unit, dimension, shown, unit
from compliance.sampling.amounts import plain

_SPELLINGS: dict[str, Parameter] = {
    "bod5 day": Parameter.BOD5,
    "bod 5 day": Parameter.BOD5,
    "5 day bod": Parameter.BOD5,
    "bod5 total": Parameter.BOD5,
    "cbod 5 day": Parameter.CBOD5,
    "carbonaceous bod 5 day": Parameter.CBOD5,
    "bod carbonaceous": Parameter.CBOD5,
    "bod 5 day carbonaceous": Parameter.CBOD5,
    "solids total suspended": Parameter.TSS,
    "solids suspended total": Parameter.TSS,
    "residue suspended": Parameter.TSS,
    "tss total suspended solids": Parameter.TSS,
    "phosphorus total": Parameter.TP,
    "total phosphorus": Parameter.TP,
    "total p": Parameter.TP,
    "nitrogen total kjeldahl": Parameter.TKN,
    "nitrogen kjeldahl total": Parameter.TKN,
    "nitrogen kjeldahl": Parameter.TKN,
    "kjeldahl nitrogen total": Parameter.TKN,
    "nitrogen total": Parameter.TOTAL_N,
    "nitrogen ammonia": Parameter.AMMONIA,
    "nh3 n": Parameter.AMMONIA,
    "sgt hem": Parameter.PETROLEUM_OIL,
    "hem sgt": Parameter.PETROLEUM_OIL,
    "sgt hem non polar material": Parameter.PETROLEUM_OIL,
    "hem sgt hem non polar material": Parameter.PETROLEUM_OIL,
    "hem non polar material": Parameter.PETROLEUM_OIL,
    "non polar material sgt hem": Parameter.PETROLEUM_OIL,
    "oil and grease sgt hem": Parameter.PETROLEUM_OIL,
    "petroleum oil sgt hem": Parameter.PETROLEUM_OIL,
    "oil grease": Parameter.OIL_AND_GREASE,
    "oil and grease hem": Parameter.OIL_AND_GREASE,
    "oil grease hem": Parameter.OIL_AND_GREASE,
    "hem oil and grease": Parameter.OIL_AND_GREASE,
    "hem oil grease": Parameter.OIL_AND_GREASE,
    "n hexane extractable material": Parameter.OIL_AND_GREASE,
    "temperature water": Parameter.TEMPERATURE,
}
_TOTAL = re.compile(r"^(?:total )?(.+?)(?: total| total recoverable)?$")
_SPECIES = re.compile(r"(?:\s+|-)?\bas\s*([A-Za-z][A-Za-z0-9]*)\s*$", re.IGNORECASE)
_UNIT_TAIL = re.compile(r"^(\S+/l)(?:\s*as\s*|[\s\-]+)([A-Za-z][A-Za-z0-9]*)$", re.IGNORECASE)

P_IN_PO4 = (Decimal("30.974"), Decimal("94.971"))
"""Molar masses of phosphorus and phosphate."""

_OWN_SPECIES = {
    Parameter.TP: "p",
    Parameter.TKN: "n",
    Parameter.AMMONIA: "n",
    Parameter.TOTAL_N: "n",
    Parameter.CYANIDE: "cn",
}
_TENFOLD = {"ng/l": -6, "g/l": 3}
_METALS = frozenset(list(Parameter)[list(Parameter).index(Parameter.CADMIUM) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How a written number becomes one in ``unit``; note: a conversion people should know of."""

    unit: Unit
    apply: Callable[[Decimal], Decimal]
    note: str | None = None


def analyte(name: str) -> tuple[Parameter, str | None]:
    """The parameter a laboratory names and the species in its name: ``Phosphorus as PO4``.

    Raises: InputError.
    """
    text = plain(name)
    tail = _SPECIES.search(text)
    species = tail[1].casefold() if tail else None
    bare = text[: tail.start()] if tail else text
    words = " ".join(re.sub(r"[^a-z0-9&]+", " ", bare.casefold()).replace("&", " ").split())
    for candidate in (words, words.replace(" ", "_")):
        if candidate in _SPELLINGS:
            return _SPELLINGS[candidate], species
    try:
        return parameter(bare), species
    except InputError:
        metal = _TOTAL.fullmatch(words)
        if metal and (found := _metal(metal[1])):
            return found, species
        raise InputError("an analyte such as pH, CBOD5, TSS, TKN, TP, SGT-HEM, zinc") from None


def _metal(name: str) -> Parameter | None:
    try:
        found = parameter(name)
    except InputError:
        return None
    return found if found in _METALS | {Parameter.CYANIDE} else None


def scale(of: Parameter, text: str, species: str | None) -> Scale:
    """How numbers written in a unit become ours: µg/L in mg/L, phosphate as phosphorus.

    species: named elsewhere than in the unit. Raises: InputError.
    """
    spelled = plain(text).replace("Âμ", "μ")
    tail = _UNIT_TAIL.fullmatch(spelled)
    if tail:
        spelled, species = tail[1], tail[2].casefold()
    if not spelled:
        if of == Parameter.PH:
            return Scale(unit=Unit.SU, apply=_same)
        raise InputError("a unit such as mg/L")
    power, written = _unit(spelled)
    _must_fit(of, written)
    if of in CONCENTRATIONS and written == Unit.UG_L:
        power, written = -3, Unit.MG_L
    return _as_species(of, species, _power(power), written)


def _unit(spelled: str) -> tuple[int, Unit]:
    tenfold = _TENFOLD.get(spelled.casefold())
    if tenfold is not None:
        return tenfold, Unit.MG_L
    try:
        return 0, unit(spelled)
    except InputError:
        raise InputError("a unit such as mg/L or ug/L") from None


def _must_fit(of: Parameter, written: Unit) -> None:
    wanted = "concentration" if of in CONCENTRATIONS else None
    wanted = {Parameter.PH: "ph", Parameter.TEMPERATURE: "temperature"}.get(of, wanted)
    if wanted and dimension(written) != wanted:
        raise InputError(f"a unit of {wanted} for {of.value}")


def _as_species(
    of: Parameter, species: str | None, apply: Callable[[Decimal], Decimal], written: Unit
) -> Scale:
    own = _OWN_SPECIES.get(of)
    if species is None or species == own or of not in CONCENTRATIONS:
        return Scale(unit=written, apply=apply)
    if of == Parameter.TP and species == "po4":
        phosphorus, phosphate = P_IN_PO4
        return Scale(
            unit=written,
            apply=lambda value: apply(value) * phosphorus / phosphate,
            note=f"phosphate was given as phosphorus: × {phosphorus} ÷ {phosphate}",
        )
    raise InputError(f"{of.value} as {(own or 'itself').upper()}")


def _same(value: Decimal) -> Decimal:
    return value


def _power(power: int) -> Callable[[Decimal], Decimal]:
    return (lambda value: value.scaleb(power)) if power else _same


def text_of(value: Decimal, *, written: str) -> str:
    """A number for print: as written where it was not converted, else by its written digits."""
    try:
        if Decimal(written) == value:
            return written.lstrip("+")
    except ArithmeticError:
        return f"{value:f}"
    return shown(value, written=written)


def in_unit(value: Decimal, source: Unit, target: Unit) -> Decimal:
    """A number in another unit of its kind. Raises: UnitMismatch."""
    return Quantity(value=value, unit=source).to(target).value
