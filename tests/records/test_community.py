"""TimescaleDB's community edition: the schema goes up, late readings reach compressed chunks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from compliance.model.readings import Reading
from compliance.model.units import Unit
from compliance.records import batch, readings, schema, timescale, trust
from compliance.records.batch import COPY_END, COPY_START
from tests.support.community import RESTART, Step, ran

AT = datetime(2026, 1, 5, tzinfo=UTC)
NEW_AND_OLD, OLD = 160, 80
HISTORY = (
    Step("CREATE EXTENSION timescaledb"),
    Step(schema.as_sql()),
)

pytestmark = pytest.mark.long
COMPRESSED = (Step("SELECT compress_chunk(c) FROM show_chunks('reading') c"),)

PLACES = tuple(
    Step(f"INSERT INTO {table} VALUES ({values})")
    for table, values in (
        ("city", "1, 'x', 'X', 'America/Chicago', '{}', 'a', 'b', 'c'"),
        ("industrial_user", "1, 1, 'u', 'U', 'cheese', true, 'C', '2'"),
        ("monitoring_point", "1, 1, 'MH-1', 'manhole'"),
        ("gateway", "1, 'g', '127.0.0.1', 502"),
        ("instrument", "1, 1, 1, 1, 'map', 'ABCD'"),
        ("channel", "1, 1, 1, 'ph', 'ph', 's.u.', '0.01'"),
    )
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
            Step(timescale.columnstore_sql()),  # as every pretreat migrate does: once is enough
            Step("SELECT current_setting('timescaledb.license') AS licence"),
            Step("SELECT hypertable_name AS name FROM timescaledb_information.hypertables"),
            Step("SELECT version_num AS head FROM alembic_version"),
            Step(
                "SELECT attname, segmentby_column_index AS segment, orderby_column_index AS place "
                "FROM timescaledb_information.compression_settings ORDER BY attname"
            ),
            Step(
                "SELECT config->>'compress_after' AS after FROM timescaledb_information.jobs "
                "WHERE proc_name = 'policy_compression'"
            ),
        ]
    )
    licence, tables, head, columns, policies = (answer["rows"] for answer in answers[-5:])
    assert columns == [
        {"attname": "channel_id", "segment": 1, "place": None},
        {"attname": "read_at", "segment": None, "place": 1},
    ]
    assert policies == [{"after": timescale.COMPRESSED_AFTER}]
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


def test_the_limit_on_compressed_rows_is_met_by_its_code_and_lifted_for_one_transaction() -> None:
    limit = "timescaledb.max_tuples_decompressed_per_dml_transaction"
    touching = "DELETE FROM reading WHERE channel_id = 1 AND value BETWEEN 3 AND 70"
    code = psycopg.errors.ConfigurationLimitExceeded.sqlstate
    assert timescale.lacks_room(psycopg.errors.lookup(code)())
    answers = ran(
        [
            *HISTORY,
            copied("reading", range(OLD)),
            *COMPRESSED,
            Step(f"SET {limit} = 10"),
            Step(touching, refused=code),
            Step("BEGIN"),
            Step(timescale.LIFT_LIMIT),
            Step(touching),
            Step("COMMIT"),
            Step(f"SELECT current_setting('{limit}') AS now"),
        ]
    )
    assert (answers[-3]["affected"], answers[-1]["rows"]) == (68, [{"now": "10"}])


def test_a_day_whose_compressed_readings_are_not_shown_is_found() -> None:
    """This build shows compressed chunks as empty once it was started again: the very thing that
    a change of edition does."""
    look = Step(trust.EMPTY.text.replace(":sample", str(trust.SAMPLE)))
    *_, before, _, hidden = ran(
        [
            *HISTORY,
            *PLACES,
            copied("reading", range(OLD)),
            Step(
                "INSERT INTO rollup_day (channel_id, day, readings, good, area, held_us, length_us,"
                f" as_of) VALUES (1, '2026-01-04', {OLD}, {OLD}, 0, 0, 0, now())"
            ),
            *COMPRESSED,
            look,
            RESTART,
            look,
        ]
    )
    assert before["rows"] == []
    assert [row["readings"] for row in hidden["rows"]] == [OLD]
