"""Which of several versions of PostgreSQL's programs saves and restores a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from compliance.records.dumping import Program, fitting


@pytest.mark.parametrize(
    ("there", "server", "least", "taken"),
    [
        ([15, 17, 18], 17, 0, 17),
        ([15, 18], 17, 0, 18),
        ([15, 16], 17, 0, None),
        ([15, 18], 15, 0, 15),
        ([16, 18], 15, 0, 16),
        ([17, 18], 15, 0, None),  # they set what an older server does not know
        ([17, 18], 17, 18, 18),  # a dump by 18 is not read by 17
        ([15, 16], 15, 16, 16),
        ([], 17, 0, None),
    ],
)
def test_the_program_is_as_new_as_the_server_and_the_dump_and_no_newer_than_fits(
    there: list[int], server: int, least: int, taken: int | None
) -> None:
    programs = [Program(path=Path("pg_restore"), major=major) for major in reversed(there)]
    found = fitting(programs, server=server, least=least)
    assert (found.major if found else None) == taken
