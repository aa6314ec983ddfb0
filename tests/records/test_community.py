"""TimescaleDB's community edition: the schema goes up, late readings reach compressed chunks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch, readings, schema, timescale
from compliance.records.batch import COPY_END, COPY_START
from tests.support.community import Step, ran

AT = datetime(2026, 1, 5, tzinfo=UTC)
NEW_AND_OLD, OLD = 160, 80
HISTORY = (
    Step("CREATE EXTENSION timescaledb"),
    Step(schema.as_sql()),
)

pytestmark = pytest.mark.long
COMPRESSED = (
    Step(
        "ALTER TABLE reading SET (timescaledb.compress, "
        "timescaledb.compress_segmentby = 'channel_id', timescaledb.compress_orderby = 'read_at')"
    ),
    Step("SELECT compress_chunk(c) FROM show_chunks('reading') c"),
)


def copied(table: str, seconds: range) -> Step:
    """A spool's tuples, by the very statement that brings them in."""
    rows = [
        Reading(channel_id=1, read_at=AT + timedelta(seconds=s), value=float(s), unit=Unit.GPM)
        for s in seconds
    ]
    content = COPY_START + batch.copy_tuples(batch.from_readings(rows), batch=1) + COPY_END
    return Step(readings.COPY_IN.format(table, "'/dev/blob'"), content)


def test_the_schema_goes_up_on_the_community_edition_as_sql() -> None:
    answers = ran(
        [
            *HISTORY,
            Step("SELECT current_setting('timescaledb.license') AS licence"),
            Step("SELECT hypertable_name AS name FROM timescaledb_information.hypertables"),
            Step("SELECT version_num AS head FROM alembic_version"),
        ]
    )
    licence, tables, head = (answer["rows"] for answer in answers[-3:])
    assert licence == [{"licence": "timescale"}], timescale.EDITIONS["community"]
    assert {"name": "reading"} in tables
    assert head == [{"head": schema.head()}]


@pytest.mark.parametrize("known", [0, OLD], ids=["all new", "half there already"])
def test_t29_late_readings_into_a_compressed_chunk_are_all_stored(known: int) -> None:
    """160 late readings of which 80 are there already: the other 80 come in, whatever the order."""
    steps = [
        *HISTORY,
        copied("reading", range(0, 2 * known, 2) if known else range(1000, 1080)),
        *COMPRESSED,
        Step("BEGIN"),
        Step(readings.STAGING),
        copied("staging", range(NEW_AND_OLD)),
        Step(readings.FROM_STAGING),
        Step("COMMIT"),
        Step(f"SELECT value FROM reading WHERE read_at < '{AT + timedelta(minutes=5)}' ORDER BY 1"),
        Step("SELECT is_compressed FROM timescaledb_information.chunks"),
    ]
    *_, moved, _, stored, chunks = ran(steps)
    assert moved["affected"] == NEW_AND_OLD - known
    assert [row["value"] for row in stored["rows"]] == list(range(NEW_AND_OLD)), json.dumps(stored)
    assert [row["is_compressed"] for row in chunks["rows"]] == [True]


def test_t29_late_readings_are_copied_straight_into_a_compressed_chunk() -> None:
    steps = [
        *HISTORY,
        copied("reading", range(OLD)),
        *COMPRESSED,
        copied("reading", range(OLD, NEW_AND_OLD)),
        Step("SELECT count(*)::int AS n FROM reading"),
    ]
    assert ran(steps)[-1]["rows"] == [{"n": NEW_AND_OLD}]
