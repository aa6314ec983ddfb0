"""A query's rows as one structured numpy array, unconverted: the server gathers each column.

Row by row, COPY and a cursor alike, the driver's loop in Python takes longer than the server does;
a column that comes as one binary array is only looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from sqlalchemy import Connection

from compliance.errors import StorageError

_HEAD = 20
"""Bytes before an array's first element: dimensions, NULLs, type, length, first index."""
_ARRAYS = [
    psycopg.adapters.types[name].array_oid
    for name in ("int2", "int4", "int8", "float8", "timestamptz")
]


class _Unread(Loader):
    """The bytes as they came."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def row_of(*columns: tuple[str, str]) -> np.dtype[np.void]:
    """The layout of rows with these columns, none of them NULL: each as name and numpy type.

    Of the first two, a number and an instant, the second in the order of time within the first.
    """
    return np.dtype(list(columns))


def copied(
    db: Connection, query: str, parameters: Sequence[object], row: np.dtype[np.void]
) -> NDArray[np.void]:
    """What a query gives, laid out as ``row_of`` says; NULL must be made something else by it.

    The query must order its rows by its first two columns. Instants are microseconds since 2000.
    Raises: StorageError for a NULL, or a column of another width.
    """
    raw = db.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    names = row.names or ()
    gathered = ", ".join(f"array_agg({name})" for name in names)
    statement = f"SELECT {gathered} FROM ({query}) AS q ({', '.join(names)})"  # noqa: S608
    with raw.cursor(binary=True) as cursor:
        for oid in _ARRAYS:
            cursor.adapters.register_loader(oid, _Unread)
        arrays = cursor.execute(statement.encode(), parameters).fetchone() or ()
    if not arrays or arrays[0] is None:
        return np.empty(0, row)
    columns = [_column(name, data, row[name]) for name, data in zip(names, arrays, strict=True)]
    return _sorted(columns, row)


def _column(name: str, data: object, kind: np.dtype[np.generic]) -> NDArray[np.generic]:
    element = np.dtype([("width", ">i4"), ("value", kind.newbyteorder(">"))])
    assert isinstance(data, bytes)
    if (len(data) - _HEAD) % element.itemsize:
        raise StorageError(f"column {name} of a query has a NULL or another type than {kind}")
    found = np.frombuffer(data, element, offset=_HEAD)
    if (found["width"] != kind.itemsize).any():
        raise StorageError(f"column {name} of a query has a NULL or another type than {kind}")
    values: NDArray[np.generic] = found["value"]
    return values


def _sorted(columns: Sequence[NDArray[np.generic]], row: np.dtype[np.void]) -> NDArray[np.void]:
    """The columns as rows; put in order in case the server gathered them in several processes."""
    found = np.empty(len(columns[0]), row)
    for name, values in zip(row.names or (), columns, strict=True):
        found[name] = values
    group, at = (found[name] for name in (row.names or ())[:2])
    behind = (group[1:] < group[:-1]) | ((group[1:] == group[:-1]) & (at[1:] < at[:-1]))
    return found[np.lexsort((at, group))] if behind.any() else found
