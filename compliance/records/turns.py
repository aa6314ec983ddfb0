"""One at a time: who holds the turn of a key works, whoever else comes with it waits."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection, Engine, func, select


def take(engine: Engine, person_id: int, key: str) -> Connection | None:
    """The turn of a person's key, held by the connection given; None while another has it."""
    db = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    mine = zlib.crc32(f"{person_id}:{key}".encode()) - 2**31
    if db.scalar(select(func.pg_try_advisory_lock(470421, mine))):
        return db
    db.close()
    return None


def give_back(turn: Connection) -> None:
    """Let the next one work."""
    turn.scalar(select(func.pg_advisory_unlock_all()))
    turn.close()
