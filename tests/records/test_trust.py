"""A database that hides its history is refused at the start, and the editions it had are told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, insert, select, text

from compliance.errors import StorageError
from compliance.jobs.rollup import roll_up
from compliance.records import schema, timescale
from compliance.records import tables as t
from compliance.records.trust import refuse_hidden_history
from tests.support.manhole import manhole


def summed_and_gone(engine: Engine) -> None:
    """As compressed chunks read under another licence."""
    mh = manhole(engine)
    mh.put({m: 7.0 for m in range(120)})
    mh.judge()
    roll_up(engine)
    refuse_hidden_history(engine)
    with engine.begin() as db:
        db.execute(text("DELETE FROM reading"))


def test_readings_that_are_summed_and_not_shown_stop_the_start(engine: Engine) -> None:
    refuse_hidden_history(engine)
    summed_and_gone(engine)
    with pytest.raises(StorageError, match=r"no reading of channel 1 on 2026-07-06, although 120"):
        schema.require(engine)


def test_the_edition_that_served_before_is_named(engine: Engine) -> None:
    summed_and_gone(engine)
    with engine.begin() as db:
        own = timescale.edition(db)
        db.execute(t.edition_seen.delete())
        db.execute(
            insert(t.edition_seen),
            [
                {"edition": "community", "last_at": datetime(2026, 7, 1, 5, tzinfo=UTC)},
                {"edition": own, "last_at": datetime(2026, 7, 2, 5, tzinfo=UTC)},
            ],
        )
    told = rf"runs on {timescale.EDITIONS[own]} \(until 2026-07-01 05:00 UTC on TimescaleDB, comm"
    with pytest.raises(StorageError, match=told):
        refuse_hidden_history(engine)
    with engine.connect() as db:
        seen = select(t.edition_seen.c.last_at).where(t.edition_seen.c.edition == own)
        assert db.scalar(seen) == datetime(2026, 7, 2, 5, tzinfo=UTC), "a refused one is not noted"


def test_every_start_notes_the_edition(engine: Engine) -> None:
    schema.require(engine)
    with engine.begin() as db:
        assert db.scalars(select(t.edition_seen.c.edition)).all() == [timescale.edition(db)]
        db.execute(t.edition_seen.update().values(last_at=datetime(2026, 1, 1, tzinfo=UTC)))
    schema.require(engine)
    with engine.connect() as db:
        first, last = db.execute(select(t.edition_seen.c.first_at, t.edition_seen.c.last_at)).one()
        assert last > datetime(2026, 1, 2, tzinfo=UTC) and first <= last
