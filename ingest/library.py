"""The library of register maps: the package's own and those of an installation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib.resources import files
from math import inf
from pathlib import Path

import yaml

from compliance.errors import NotFound, RuleError
from compliance.model.register_map import RegisterMap, inherited, register_map

PACKAGED = Path(str(files("ingest"))) / "maps"

MOST_BYTES = 256 * 1024
DEEPEST = 12
"""Lists and mappings in one another; a map needs five."""
MOST_NODES = 50_000
"""Values that a file stands for, aliases written out."""


class _Strict(yaml.CSafeLoader):
    """Refuses a key written twice, and takes 0123 for a text, not for octal 83."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {twice!r} is there twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | str:
    text = str(loader.construct_scalar(node))
    digits = text.lstrip("+-")
    plain = digits == "0" or digits.lower().startswith("0x") or not digits.startswith("0")
    if not plain or not digits.replace("x", "", 1).replace("X", "", 1).isalnum():
        return text
    return int(text, 0)


_Strict.add_constructor("tag:yaml.org,2002:int", _construct_int)


def read_yaml(path: Path) -> Mapping[str, object]:
    """A YAML file that holds one mapping.

    Raises: RuleError naming file, line and repair.
    """
    try:
        document = yaml.load(_modest(path), Loader=_Strict)  # noqa: S506
    except OSError as error:
        raise RuleError(f"{path} cannot be read ({error.strerror}); check its name") from None
    except UnicodeDecodeError:
        raise RuleError(f"{path} is no UTF-8 text; expected a YAML file") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise RuleError(f"{path} is no usable YAML: {_where(error)}; correct it there") from None
    if _weight(document, {}) > MOST_NODES:
        raise RuleError(f"{path} stands for more than {MOST_NODES} values; write out its aliases")
    if not isinstance(document, dict):
        raise RuleError(f"{path} holds no mapping; expected a file like those of the package")
    return document


def _modest(path: Path) -> str:
    """A file's text. Raises: OSError; UnicodeDecodeError; RuleError for one that is no map's size.

    Its depth is looked at before anything is built.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise RuleError(
            f"{path} has more than {MOST_BYTES // 1024} KB; expected a register map, of some ten KB"
        )
    text = content.decode("utf-8")
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise RuleError(
                f"{path} nests deeper than {DEEPEST} levels; expected a file like those of the "
                "package"
            )
    return text


def _weight(node: object, known: dict[int, float]) -> float:
    """How many values a document stands for; without end where it holds itself."""
    if not isinstance(node, dict | list):
        return 1
    if id(node) not in known:
        known[id(node)] = inf
        inner = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_weight(one, known) for one in inner)
    return known[id(node)]


def _where(error: Exception) -> str:
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem} in line {mark.line + 1}" if mark else problem


def load_file(path: Path, home: Path | None = None) -> RegisterMap:
    """The register map in a file, whose stem must be the map's name.

    home: whose maps it may inherit from, beside the package's.
    Raises: RuleError in one sentence.
    """
    try:
        found = register_map(_document(path, home, ()), file=path.name)
    except (RecursionError, ArithmeticError, ValueError, TypeError) as error:
        what = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise RuleError(f"{path.name} is no usable register map: {what}; correct it") from None
    if found.name != path.stem:
        raise RuleError(f"{path.name}: name is {found.name!r}; expected {path.stem!r}, as the file")
    return found


def _document(path: Path, home: Path | None, heirs: tuple[Path, ...]) -> Mapping[str, object]:
    """A map's document, with what it inherits; a map of the installation may inherit its own name.

    heirs: the files that inherit from this one, which it may not inherit from in turn.
    """
    own = read_yaml(path)
    parent = own.get("inherits")
    if parent is None:
        return own
    places = (folder / f"{parent}.yaml" for folder in _folders(home))
    found = next((p for p in places if p.exists() and p not in (*heirs, path)), None)
    if found is None:
        known = ", ".join(names(home))
        raise RuleError(f"{path.name}: inherits is {parent!r}; expected another of {known}")
    return inherited(_document(found, home, (*heirs, path)), own)


def names(home: Path | None = None) -> tuple[str, ...]:
    """The names of all maps, those in ``home/maps`` included."""
    return tuple(sorted({path.stem for folder in _folders(home) for path in folder.glob("*.yaml")}))


def load(name: str, home: Path | None = None) -> RegisterMap:
    """A map by its name; one in ``home/maps`` goes before the package's.

    Raises: NotFound naming the maps there are, RuleError for one that is unusable.
    """
    known = names(home)
    if name not in known:
        raise NotFound(f"there is no register map {name!r}; expected one of {', '.join(known)}")
    paths = (folder / f"{name}.yaml" for folder in _folders(home))
    return load_file(next(path for path in paths if path.exists()), home)


def _folders(home: Path | None) -> tuple[Path, ...]:
    return (PACKAGED,) if home is None else (home / "maps", PACKAGED)
