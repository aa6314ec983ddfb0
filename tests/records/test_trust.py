"""A database that hides its history is refused at the start."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from compliance.errors import StorageError
from compliance.jobs.rollup import roll_up
from compliance.records.trust import refuse_hidden_history
from tests.support.manhole import manhole


def test_readings_that_are_summed_and_not_shown_stop_the_start(engine: Engine) -> None:
    mh = manhole(engine)
    refuse_hidden_history(engine)
    mh.put({m: 7.0 for m in range(120)})
    mh.judge()
    roll_up(engine)
    refuse_hidden_history(engine)
    with engine.begin() as db:
        db.execute(text("DELETE FROM reading"))  # as compressed chunks read under another licence
    with pytest.raises(StorageError, match=r"no reading of channel 1 on 2026-07-06, although 120"):
        refuse_hidden_history(engine)
