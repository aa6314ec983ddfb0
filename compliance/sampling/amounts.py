"""The number of a laboratory result: its sign, its qualifier, and what a non-detect lies below."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from compliance.errors import InputError

_BELOW_RL = ("nd", "n.d.", "non detect", "non-detect", "nondetect", "not detected",
             "none detected", "brl", "bql", "u", "below reporting limit",
             "<rl", "< rl", "<loq", "<pql")  # fmt: skip
_BELOW_MDL = ("<mdl", "< mdl", "<lod", "< lod", "below detection limit", "bdl")
NON_DETECT_WORDS = frozenset((*_BELOW_RL, *_BELOW_MDL))
_LOWER_LIMIT = frozenset(_BELOW_MDL)
NOT_MEASURED = frozenset(
    ("not reported", "not analyzed", "not analysed", "na", "n/a", "nr", "ns", "no sample", "lost",
     "tntc", "too numerous to count", "present", "absent",
     "present above quantification limit", "-", "--")
)  # fmt: skip
_NUMBER = re.compile(
    r"(<|>|=)?\s*([+\-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+(?![A-Za-z]))?)\s*([A-Za-z]{1,3})?",
    re.ASCII,
)
_COMMA = re.compile(r"[<>=]?\s*[+\-]?\d+(,\d+)+(\.\d+)?", re.ASCII)
_POWERS = range(-15, 16)
_LONGEST = 40

SIGN = {"": "", "=": "", "<": "<", ">": ">", "u": "<", "nd": "<", "j": "J"}
"""What a qualifier means here; meanings of other letters differ between laboratories."""


def plain(text: str) -> str:
    """Text in compatibility form: full-width signs and no-break spaces as their plain ones."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A result as written. value None: a non-detect that relies on a limit.

    qualifier: ``""``, ``"<"`` or ``">"``; written: the number as the source wrote it;
    lower: whether a bare non-detect means the detection limit and not the reporting limit.
    """

    qualifier: str
    value: Decimal | None
    written: str
    lower: bool = False
    note: str | None = None


def amount(result: str, flag: str) -> Amount:
    """What a result cell and its qualifier cell say together.

    Raises: InputError naming what was expected, when they say nothing usable.
    """
    text, sign = plain(result), _sign(plain(flag))
    word = text.casefold()
    if word in NOT_MEASURED:
        raise InputError("a number; this says that nothing was measured")
    if word in NON_DETECT_WORDS or (not text and sign == "<"):
        if sign not in ("", "<"):
            raise InputError("a qualifier that agrees with a non-detect")
        return Amount(qualifier="<", value=None, written=text, lower=word in _LOWER_LIMIT)
    return _number(text, sign)


def _sign(flag: str) -> str:
    meaning = SIGN.get(flag.casefold())
    if meaning is None and flag.casefold() in NON_DETECT_WORDS:
        return "<"
    if meaning is None:
        raise InputError("one of blank, =, <, >, U, ND, J: other codes differ between laboratories")
    return meaning


def _number(text: str, sign: str) -> Amount:
    if _COMMA.fullmatch(text):
        raise InputError("a number without a comma: it may mark thousands or decimals")
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise InputError("a number, with < or > before it or ND where nothing was detected")
    own = {"<": "<", ">": ">"}.get(found[1] or "", "")
    tail = _sign(found[3] or "")
    signs = {s for s in (own, sign, tail) if s}
    if len(signs - {"J"}) > 1 or signs == {"<", "J"}:
        raise InputError("one qualifier: these contradict each other")
    value = sized(found[2])
    qualifier = next(iter(signs - {"J"}), "")
    if qualifier == "<" and value == 0:
        return Amount(qualifier="<", value=None, written=found[2])
    note = "estimated by the laboratory (J): used as it stands" if "J" in signs else None
    return Amount(qualifier=qualifier, value=value, written=found[2], note=note)


def limit(text: str) -> Decimal | None:
    """A detection or reporting limit; None where the cell is blank.

    Raises: InputError.
    """
    cell = plain(text).removeprefix("<").strip()
    if not cell:
        return None
    found = _NUMBER.fullmatch(cell)
    if found is None or found[1] or found[3] or (value := sized(found[2])) <= 0:
        raise InputError("a limit above zero, or a blank")
    return value


def sized(text: str) -> Decimal:
    """A written number of a size that a laboratory reports, so that arithmetic on it is safe.

    Raises: InputError for 1e309 and 1e-400, and for a number of more than 40 characters.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:  # a power of more than eighteen digits
        value = Decimal("NaN")
    power = value.as_tuple().exponent if value.is_zero() else value.adjusted()
    if not value.is_finite() or power not in _POWERS or len(text) > _LONGEST:
        raise InputError(
            f"a number between 1e{_POWERS[0]} and 1e{_POWERS[-1]}, in at most {_LONGEST} characters"
        )
    return value
