"""The tags of a historian: which channel each is, in which unit, and what its marks mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from compliance.errors import InputError
from compliance.model.readings import Quality

FILE = "historian-tags.yaml"
"""Where tags are remembered, in the folder of the installation."""
EXAMPLE = "MH1_PH: MH-1:ph s.u."
IGNORE = "ignore"
_QUALITY_OF = "quality of "

GRADES = {
    "good": Quality.GOOD,
    "suspect": Quality.DECLARED_SUSPECT,
    "bad": Quality.DECLARED_BAD,
    "missing": Quality.MISSING_MARK,
    "maintenance": Quality.MAINTENANCE,
}
_SUSPECT = ("<", ">", "~", "e", "est", "*", "?", "q", "questionable", "uncertain")
_BAD = ("b", "bad", "bad input", "bad data", "invalid", "error", "err", "fault", "over range")
_MISSING = (
    "nan", "null", "none", "n/a", "na", "#n/a", "-", "--", "---", "no data", "comm fail",
    "i/o timeout", "pt created", "shutdown", "no sample", "offline",
)  # fmt: skip
MARKS: dict[str, Quality] = {
    **GRADES,
    **dict.fromkeys(_SUSPECT, Quality.DECLARED_SUSPECT),
    **dict.fromkeys(_BAD, Quality.DECLARED_BAD),
    **dict.fromkeys(_MISSING, Quality.MISSING_MARK),
}
"""What stands in a cell beside a number, or instead of one, in small letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A tag's channel: ``MH-2:count:bottle gal`` names point, parameter, entry and unit."""

    point: str
    parameter: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityOf:
    """A tag whose cells are the quality of another tag."""

    tag: str


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags and the text of what each means, and marks beside the usual ones."""

    texts: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)

    def meaning(self, tag: str) -> Signal | QualityOf | None:
        """What a tag means; None for one to ignore. Raises: KeyError, InputError."""
        return _meaning(tag, self.texts[tag])

    def qualities(self) -> dict[str, Quality]:
        """Every mark, in small letters."""
        return {**MARKS, **{mark.casefold(): GRADES[to] for mark, to in self.marks.items()}}

    def over(self, older: Tags) -> Tags:
        """These and the older ones that they do not name."""
        return Tags({**older.texts, **self.texts}, {**older.marks, **self.marks})


def _meaning(tag: str, text: str) -> Signal | QualityOf | None:
    if text.casefold() == IGNORE:
        return None
    if text.casefold().startswith(_QUALITY_OF):
        return QualityOf(tag=text[len(_QUALITY_OF) :].strip())
    point, _, rest = text.partition(":")
    kind, _, spelled = rest.strip().partition(" ")
    if not (point.strip() and kind and spelled.strip()):
        raise InputError(
            f"the tag {tag} is said to be {text!r}, expected POINT:PARAMETER UNIT such as "
            "MH-1:ph s.u., POINT:PARAMETER:ENTRY UNIT, quality of TAG, or ignore; rewrite it"
        )
    return Signal(point=point.strip(), parameter=kind, unit=spelled.strip())


def read(path: Path) -> Tags:
    """A document of tags. Raises: InputError naming the file and the line or the tag."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path.name} cannot be read ({error}); expected a document of tags: check its name"
        ) from None
    try:
        content = yaml.load(text, _Strict)  # noqa: S506 - texts only
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(
            f"{path.name}, line {line}: {error.problem}; expected tags: and one line a tag, "
            f"such as {EXAMPLE}"
        ) from None
    found = Tags(_texts(content, "tags", path.name), _texts(content, "marks", path.name))
    for tag, said in found.texts.items():
        _meaning(tag, said)
    for mark, grade in found.marks.items():
        if grade not in GRADES:
            raise InputError(
                f"{path.name}, mark {mark}: found {grade!r}, expected one of {', '.join(GRADES)}; "
                "correct its spelling"
            )
    return found


class _Strict(yaml.BaseLoader):
    """Every name is text (``NO`` is no boolean), and none comes twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value} stands here twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _texts(content: object, section: str, name: str) -> dict[str, str]:
    found = content.get(section, {}) if isinstance(content, dict) else None
    strange = set(content) - {"tags", "marks"} if isinstance(content, dict) else set()
    if not isinstance(found, dict) or strange:
        what = ", ".join(sorted(map(str, strange))) or type(content).__name__
        raise InputError(
            f"{name}: found {what}, expected tags: with one line a tag, such as {EXAMPLE}, and "
            "perhaps marks: with one line a mark, such as C: maintenance"
        )
    return {str(key).strip(): str(value).strip() for key, value in found.items()}


def remembered(home: Path) -> Tags:
    """The tags of earlier imports, none before the first."""
    path = home / FILE
    return read(path) if path.exists() else Tags()


def remember(home: Path, tags: Tags) -> None:
    """Keep tags for the imports to come."""
    home.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(
        {"tags": dict(tags.texts), "marks": dict(tags.marks)}, allow_unicode=True, sort_keys=True
    )
    fresh = home / f"{FILE}.new"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(home / FILE)
