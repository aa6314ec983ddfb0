"""YAML files of law read strictly, and refused in one sentence: file, rule, field, and why."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from compliance.errors import RuleError

M = TypeVar("M", bound=BaseModel)

_EXPECTED = {
    "missing": "is missing; write it out, with null where the text says nothing",
    "extra_forbidden": "is not a field of this kind of {row}; correct its spelling or remove it",
    "union_tag_invalid": "has an unknown kind; expected limit, slug, share, strength, factor, "
    "narrative, snc, clock, counting or allowance",
}


_Reader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, ten times as fast, where PyYAML was built with it."""


class _Loader(_Reader):  # type: ignore[misc]
    """YAML in which a key may stand once: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


def read(model: type[M], text: str, file: str, *, keys: str, rows: Mapping[str, str]) -> M:
    """A document of that model from a file's text.

    keys: those that such a file has at its top. rows: its lists, each with how one of its rows is
    called, followed by the row's field that names it: ``{"rules": "rule id"}``.

    Raises: RuleError in one sentence: file, rule and field, what was found, what was expected.
    """
    found = _mapping(text, file, keys)
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise RuleError(_sentence(error, found, file, rows)) from None


def _mapping(text: str, file: str, keys: str) -> dict[str, Any]:
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, stricter
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RuleError(
            f"{file}, line {line}: {error.problem}; expected YAML as `rules check --schema` prints"
        ) from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise RuleError(f"{file}: not readable as YAML ({' '.join(str(error).split())})") from None
    if not isinstance(found, dict):
        place = f"{file} is empty" if found is None else f"{file}: found {type(found).__name__}"
        raise RuleError(f"{place}, expected the keys {keys}")
    return found


def _sentence(
    error: ValidationError, found: dict[str, Any], file: str, rows: Mapping[str, str]
) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    place, called = file, "file"
    if len(path) > 1 and path[0] in rows and path[1].isdigit():
        called, name = rows[path[0]].split()
        row = found[path[0]][int(path[1])]
        place += f", {called} {row.get(name, path[1]) if isinstance(row, dict) else path[1]}"
        # the kind stands between the number and the field where rows are of several kinds
        path = path[3:] if path[0] == "rules" else path[2:]
    field = ".".join(path)
    expected = _EXPECTED.get(first["type"])
    if expected:
        return f"{place}: {field or f'the {called}'} {expected.format(row=called)}"
    said = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    shown = f" is {given!r}," if field and not isinstance(given, dict) else ""
    return f"{place}: {field}{shown} {said}".replace(":  ", ": ")
