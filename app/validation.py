"""What is wrong with a request, in a sentence of ours: where, what was found, what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.inputs import OURS

LONGEST = 60
PLACES = {
    "path": "in the address",
    "query": "the parameter",
    "body": "the field",
    "header": "the header",
    "cookie": "the cookie",
}
WHOLE_NUMBER = "a whole number"
INSTANT = "an instant such as 2026-03-01T08:00:00-06:00"
TEXT = "text"
EXPECTED = {
    "int_parsing": WHOLE_NUMBER,
    "int_parsing_size": WHOLE_NUMBER + " that is not so long",
    "int_type": WHOLE_NUMBER,
    "int_from_float": WHOLE_NUMBER,
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_type": TEXT,
    "string_unicode": "text of whole characters",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "literal_error": "one of {expected}",
    "model_attributes_type": "a JSON object",
    "model_type": "a JSON object",
    "dict_type": "a JSON object",
}


def sentence(fault: Mapping[str, Any]) -> str:
    """One fault of a request, as the validator reports it, in words."""
    kind, place = fault["type"], fault["loc"]
    if kind == "json_invalid":
        return "The body is not JSON that can be read; send one JSON object."
    where = _where(place)
    if kind == "missing":
        return _upper(f"{where} is missing; send it.")
    if kind == "extra_forbidden":
        return _upper(f"{where} is not one of this request; leave it out.")
    if kind in OURS:
        return _upper(f"{where}: {fault['msg']}.")
    return _upper(f"{where} is {_found(fault.get('input'))}; expected {_expected(fault)}.")


def _where(place: tuple[Any, ...]) -> str:
    first, names = str(place[0]) if place else "", [str(part) for part in place[1:]]
    return " ".join([PLACES.get(first, "the request"), *names]) if names else "the body"


def _expected(fault: Mapping[str, Any]) -> str:
    kind = str(fault["type"])
    if kind.startswith("datetime"):
        return INSTANT
    said = EXPECTED.get(kind, "something else, which the page /api/docs describes")
    return said.format_map(fault.get("ctx") or {})


def _found(value: Any) -> str:
    if value is None or isinstance(value, Mapping | list):
        return "not of the right kind"
    shown = repr(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}… ({len(str(value))} characters)"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
