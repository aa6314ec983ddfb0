"""COPY binary out of the server into numpy: a query's rows as one structured array, unconverted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray
from sqlalchemy import Connection

from compliance.records.batch import COPY_END, COPY_START


def row_of(*columns: tuple[str, str]) -> np.dtype[np.void]:
    """The layout of rows with these columns, none of them NULL: each as name and numpy type."""
    fields = [("fields", ">i2")]
    for number, (name, kind) in enumerate(columns):
        fields += [(f"n{number}", ">i4"), (name, kind)]
    return np.dtype(fields)


def copied(
    db: Connection, query: str, parameters: Sequence[object], row: np.dtype[np.void]
) -> NDArray[np.void]:
    """What a query gives, laid out as ``row_of`` says; NULL must be made something else by it."""
    raw = db.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    statement = f"COPY ({query}) TO STDOUT (FORMAT BINARY)"
    with raw.cursor() as cursor, cursor.copy(statement.encode(), parameters) as copy:
        data = b"".join(bytes(piece) for piece in copy)
    return np.frombuffer(data[len(COPY_START) : -len(COPY_END)], row)
