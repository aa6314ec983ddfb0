"""Parameters: what is measured, spelled in one way, with the range that physics allows."""

from __future__ import annotations

from enum import StrEnum

from compliance.errors import InputError


class Parameter(StrEnum):
    """Spelled as ``contracts.md`` spells them; input may spell them otherwise (``parameter()``)."""

    FLOW = "flow"
    VOLUME = "volume"
    LEVEL = "level"
    VELOCITY = "velocity"
    PH = "ph"
    TEMPERATURE = "temperature"
    ORP = "orp"
    CONDUCTIVITY = "conductivity"
    CURRENT = "current"
    COUNT = "count"
    CONTACT = "contact"
    PETROLEUM_OIL = "petroleum_oil"
    OIL_AND_GREASE = "oil_and_grease"
    FLOATABLE_OIL = "floatable_oil"
    BOD5 = "bod5"
    CBOD5 = "cbod5"
    COD = "cod"
    TSS = "tss"
    TKN = "tkn"
    AMMONIA = "ammonia"
    TOTAL_N = "total_n"
    TP = "tp"
    CHLORIDE = "chloride"
    CYANIDE = "cyanide"
    PHENOLS = "phenols"
    SULFIDE = "sulfide"
    CADMIUM = "cadmium"
    CHROMIUM = "chromium"
    COPPER = "copper"
    IRON = "iron"
    LEAD = "lead"
    MERCURY = "mercury"
    NICKEL = "nickel"
    SILVER = "silver"
    ZINC = "zinc"


LABEL: dict[Parameter, str] = {
    Parameter.PH: "pH",
    Parameter.ORP: "ORP",
    Parameter.BOD5: "BOD₅",
    Parameter.CBOD5: "CBOD₅",
    Parameter.COD: "COD",
    Parameter.TSS: "Suspended solids (TSS)",
    Parameter.TKN: "Kjeldahl nitrogen (TKN)",
    Parameter.TOTAL_N: "Total nitrogen",
    Parameter.TP: "Phosphorus (TP)",
    Parameter.PETROLEUM_OIL: "Petroleum oil (SGT-HEM)",
    Parameter.OIL_AND_GREASE: "Oil and grease (HEM)",
}

_SPELLINGS: dict[str, Parameter] = {
    "ph value": Parameter.PH,
    "temp": Parameter.TEMPERATURE,
    "water temperature": Parameter.TEMPERATURE,
    "flow rate": Parameter.FLOW,
    "discharge": Parameter.FLOW,
    "totalizer": Parameter.VOLUME,
    "total": Parameter.VOLUME,
    "bod": Parameter.BOD5,
    "bod-5": Parameter.BOD5,
    "biochemical oxygen demand": Parameter.BOD5,
    "cbod": Parameter.CBOD5,
    "cbod-5": Parameter.CBOD5,
    "carbonaceous bod": Parameter.CBOD5,
    "carbonaceous biochemical oxygen demand": Parameter.CBOD5,
    "chemical oxygen demand": Parameter.COD,
    "ss": Parameter.TSS,
    "suspended solids": Parameter.TSS,
    "total suspended solids": Parameter.TSS,
    "total kjeldahl nitrogen": Parameter.TKN,
    "kjeldahl nitrogen": Parameter.TKN,
    "nh3-n": Parameter.AMMONIA,
    "ammonia nitrogen": Parameter.AMMONIA,
    "total nitrogen": Parameter.TOTAL_N,
    "tn": Parameter.TOTAL_N,
    "total phosphorus": Parameter.TP,
    "phosphorus": Parameter.TP,
    "p, total": Parameter.TP,
    "petroleum oil": Parameter.PETROLEUM_OIL,
    "sgt-hem": Parameter.PETROLEUM_OIL,
    "sgt hem": Parameter.PETROLEUM_OIL,
    "silica gel treated hem": Parameter.PETROLEUM_OIL,
    "non-polar material": Parameter.PETROLEUM_OIL,
    "hem": Parameter.OIL_AND_GREASE,
    "fog": Parameter.OIL_AND_GREASE,
    "o&g": Parameter.OIL_AND_GREASE,
    "oil and grease": Parameter.OIL_AND_GREASE,
    "oil & grease": Parameter.OIL_AND_GREASE,
    "cn": Parameter.CYANIDE,
    "cd": Parameter.CADMIUM,
    "cr": Parameter.CHROMIUM,
    "cu": Parameter.COPPER,
    "fe": Parameter.IRON,
    "pb": Parameter.LEAD,
    "hg": Parameter.MERCURY,
    "ni": Parameter.NICKEL,
    "ag": Parameter.SILVER,
    "zn": Parameter.ZINC,
}
_BY_NAME = {p.value: p for p in Parameter}

PHYSICAL_RANGE: dict[Parameter, tuple[float, float]] = {
    Parameter.PH: (0.0, 14.0),
}
"""Outside of it a number is no measurement, in the parameter's own unit."""

UNIT_KIND: dict[Parameter, str] = {
    Parameter.FLOW: "flow",
    Parameter.VOLUME: "volume",
    Parameter.LEVEL: "length",
    Parameter.VELOCITY: "speed",
    Parameter.PH: "ph",
    Parameter.TEMPERATURE: "temperature",
    Parameter.ORP: "potential",
    Parameter.CONDUCTIVITY: "conductivity",
    Parameter.CURRENT: "current",
    Parameter.COUNT: "count",
    Parameter.CONTACT: "state",
}
"""What a parameter's unit must measure (``units.dimension``); all others are concentrations."""

CONCENTRATIONS = frozenset(list(Parameter)[list(Parameter).index(Parameter.PETROLEUM_OIL) :])
"""Parameters reported as mass in a volume of water."""


def parameter(spelling: str) -> Parameter:
    """The parameter that ``spelling`` means, whatever its case.

    Raises: InputError naming the spelling and some of the names we know.
    """
    key = " ".join(spelling.replace("_", " ").split()).casefold()
    found = _BY_NAME.get(key.replace(" ", "_")) or _SPELLINGS.get(key)
    if found is None:
        raise InputError(
            f"parameter {spelling!r} is not known; expected a name such as ph, temperature, flow, "
            "petroleum_oil, cbod5, tss, tkn, tp"
        )
    return found


def label(of: Parameter) -> str:
    """The name for people."""
    return LABEL.get(of, of.value.replace("_", " ").capitalize())
