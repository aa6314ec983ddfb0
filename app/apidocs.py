"""What a request's body holds, read out of the API's own description, for the page about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a body."""

    name: str
    type: str
    is_required: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How a body is sent and what stands in it."""

    kind: str
    fields: tuple[Field, ...]


def fields(described: Mapping[str, Any], operation: Mapping[str, Any]) -> Body | None:
    """The body of an operation in an OpenAPI description; None where it takes none."""
    content = operation.get("requestBody", {}).get("content")
    if not content:
        return None
    kind, one = next(iter(content.items()))
    schema = _resolved(described, one["schema"])
    required = schema.get("required", ())
    return Body(
        kind=kind,
        fields=tuple(
            Field(
                name=name,
                type=_type(part),
                is_required=name in required,
                says=part.get("description", ""),
            )
            for name, part in schema.get("properties", {}).items()
        ),
    )


def _resolved(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref", "")
    if not reference:
        return schema
    found: Mapping[str, Any] = described["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _type(part: Mapping[str, Any]) -> str:
    if "contentMediaType" in part or part.get("format") == "binary":
        return "file"
    kinds = [one.get("type", "") for one in part.get("anyOf", [part])]
    return " or ".join(kind for kind in kinds if kind not in ("", "null"))
