"""What a worker is to poll, as it knows it at one time, and as it keeps it beside its spool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from compliance.errors import InputError
from compliance.model.register_map import RegisterMap
from compliance.records import plans as plans_as_json
from compliance.records.sites import GatewayPlan
from ingest import kept, library


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Gateways with everything behind them, and what came of them so far.

    claimed: those whose worker was down, by id; surplus: how many to hand over to other workers;
    last: the last slot of each channel that is stored, in microseconds since 1970.
    """

    plans: tuple[GatewayPlan, ...]
    claimed: frozenset[int] = frozenset()
    surplus: int = 0
    last: Mapping[int, int] = field(default_factory=dict)


class Kept:
    """The configuration that a worker last had, in a checksummed file beside its spool."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "polled"
        self._written = b""

    def read(self) -> tuple[GatewayPlan, ...]:
        """What it had; nothing where there is no sound file of this release."""
        content = kept.read(self._path)
        try:
            return plans_as_json.decoded(content) if content else ()
        except InputError:
            return ()

    def write(self, plans: tuple[GatewayPlan, ...]) -> None:
        """Keep it, when it is another than before. Raises: OSError."""
        content = plans_as_json.encoded(plans)
        if content != self._written:
            kept.write(self._path, content)
            self._written = content


def map_names(plans: Iterable[GatewayPlan]) -> tuple[str, ...]:
    """The names of the register maps that plans need, each once."""
    return tuple(sorted({i.instrument.map_name for plan in plans for i in plan.instruments}))


class Maps:
    """Register maps by name, each read once; all anew once a file of the installation changes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[str, RegisterMap] = {}
        self._mark = self._marked()

    def mark(self) -> str:
        """A mark of the installation's own maps: another one when a file of theirs has changed."""
        mark = self._marked()
        if mark != self._mark:
            self._mark, self._known = mark, {}
        return mark

    def _marked(self) -> str:
        files = sorted((self._home / "maps").glob("*.yaml"))
        with suppress(OSError):  # one that vanishes meanwhile is another mark the next time
            stats = [(file.name, file.stat()) for file in files]
            return repr([(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats])
        return ""

    def names(self) -> tuple[str, ...]:
        """The names of all maps, usable or not."""
        return library.names(self._home)

    def newest(self, name: str) -> RegisterMap:
        """A map as its file is now. Raises: RuleError, InputError or NotFound."""
        return library.load(name, self._home)

    def __getitem__(self, name: str) -> RegisterMap:
        """Raises: RuleError, InputError or NotFound for a map that cannot be used."""
        if name not in self._known:
            self._known[name] = library.load(name, self._home)
        return self._known[name]
