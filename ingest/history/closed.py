"""A file with readings of a month that was destroyed is refused before any of it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from sqlalchemy import Engine

from compliance.errors import InputError
from compliance.model.history import Piece
from compliance.model.periods import from_us, to_us
from compliance.records import destructions
from compliance.records.destructions import Closed
from ingest.history.rhythm import Run


class Pieces(Protocol):
    """A file of history that is read once more."""

    name: str

    def pieces(self) -> Iterator[Piece]: ...


def refuse_closed(engine: Engine, exports: tuple[Pieces, ...], seen: Mapping[int, Run]) -> None:
    """Refuse exports that hold a reading of a closed month; seen: the time of each channel's.

    The files are read again only where a closed month touches that time.
    Raises: InputError naming file and row.
    """
    if not seen:
        return
    since = from_us(min(one.first_us for one in seen.values()))
    until = from_us(max(one.last_us for one in seen.values()) + 1)
    with engine.connect() as db:
        shut = destructions.closed(db, list(seen), since=since, until=until)
        for export in exports if shut else ():
            for piece in export.pieces():
                found = _first(piece, shut)
                if found is not None:
                    row, channel, at_us = found
                    said = destructions.said(db, channel, from_us(at_us))
                    raise InputError(f"{export.name}, row {row}: {said}; nothing was stored")


def _first(piece: Piece, shut: Closed) -> tuple[int, int, int] | None:
    """Row, channel and instant of the first reading of a part that lies in a closed month."""
    for channel, months in shut.items():
        for month in months:
            inside = (piece.channel_id == channel) & (piece.at_us >= to_us(month.start))
            inside &= piece.at_us < to_us(month.end)
            if inside.any():
                place = int(inside.argmax())
                return int(piece.row[place]), channel, int(piece.at_us[place])
    return None
