"""Exports that are read twice, block by block: first to know them, then for their readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from app.historian.blocks import TextFile, cells, separator
from app.historian.clocks import Order, order_of
from app.historian.long_rows import LongRows
from app.historian.parts import Layout
from app.historian.passes import Passes
from app.historian.tags import Tags
from app.historian.targets import Targets
from app.historian.wide_rows import WideRows, is_wide
from compliance.errors import InputError
from compliance.model.history import Piece

SUFFIXES = (".csv", ".csv.gz", ".txt", ".tsv")
ASIDE = (".rejects.csv", ".conflicts.csv")
"""What an import itself leaves beside a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read: the zone of times without an offset, which pass where no order tells it,
    which part of a slashed date comes first (None: as the files show), what tags mean, and the last
    instant that a reading can have (None: any)."""

    zone: ZoneInfo
    fold: str | None = None
    order: Order | None = None
    tags: Tags = Tags()
    until: datetime | None = None


class History:
    """One export. name, size: of the file on disk; layout: ``long`` or ``wide``."""

    def __init__(self, file: TextFile, layout: Layout, *, kind: str, fold: str | None) -> None:
        self._file, self._rows = file, layout
        self._passes = Passes(fold)
        self.name, self.size, self.layout = file.name, file.size, kind

    @property
    def sha256(self) -> str:
        """Of the file's bytes, once it was surveyed."""
        return self._file.sha256

    @property
    def is_undecided(self) -> bool:
        """Whether the file passes a repeated hour so that no order of its rows tells the pass."""
        return self._passes.is_undecided

    def survey(self) -> Iterator[Piece]:
        """Read it for the first time: readings of a repeated hour stand in its first pass.

        Raises: InputError where the file cannot be read to its end.
        """
        for block in self._file.blocks():
            part = self._rows.part(block)
            part.learn(self._passes)
            yield part.piece(None)

    def pieces(self) -> Iterator[Piece]:
        """Read it again, every reading at its instant; ``survey`` must have come to its end."""
        for block in self._file.blocks():
            yield self._rows.part(block).piece(self._passes)

    def warnings(self) -> Iterator[str]:
        """What its reader should know, after the survey."""
        for day in self._passes.days():
            yield (
                f"{self.name}: the repeated hour of {day.isoformat()} is passed twice without an "
                "offset; the order of the rows decided"
            )


def opened(
    paths: Sequence[Path], targets: Targets, reading: Reading
) -> tuple[list[History], list[str]]:
    """Exports ready to be surveyed, and warnings; a folder stands for the exports in it.

    Raises: InputError for a file that cannot be read or whose header says nothing we know.
    """
    files = [TextFile(path) for path in _unfolded(paths)]
    headers = [file.header() for file in files]
    wide = [file for file, header in zip(files, headers, strict=True) if is_wide(header)]
    order, told = (reading.order, True) if reading.order else _order(wide)
    warnings = []
    if not told:
        warnings.append(
            "dates such as 03/04/2026 were read month first, and nothing in the files tells "
            "whether that is so; --dates day reads them the other way"
        )
    found = []
    for file, header in zip(files, headers, strict=True):
        layout: Layout
        if file in wide:
            layout = WideRows(header, file.name, targets=targets, tags=reading.tags,
                              zone=reading.zone, order=order or Order.MONTH,
                              until=reading.until)  # fmt: skip
        else:
            layout = LongRows(
                header, file.name, targets=targets, zone=reading.zone, until=reading.until
            )
        kind = "wide" if file in wide else "long"
        found.append(History(file, layout, kind=kind, fold=reading.fold))
    return found, warnings


def _unfolded(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = [
            file
            for file in sorted(path.iterdir())
            if file.name.casefold().endswith(SUFFIXES) and not file.name.endswith(ASIDE)
        ]
        if not inside:
            raise InputError(
                f"the folder {path} has no export; expected files that end in "
                f"{', '.join(SUFFIXES)}: name another folder, or the files themselves"
            )
        yield from inside


def _order(files: Sequence[TextFile]) -> tuple[Order, bool]:
    """The order of slashed dates that all files share; each distinct date is looked at once."""
    dated: dict[tuple[str, str], None] = {}
    for file in files:
        mark = separator(file.header())
        for block in file.blocks():
            starts = dict.fromkeys(line.partition(mark)[0] for line in block.lines)
            for start in starts:
                found = cells([start], mark)[0]
                if found and "/" in found[0]:
                    dated[found[0].strip(), file.path.name.partition(".")[0]] = None
    return order_of({text for text, _ in dated}, dated)
