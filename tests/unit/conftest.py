"""A gateway that answers as a script says: late, wrong, short, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faulty import Asked, Scripted, answer

WIRE = (
    "test_client",
    "test_commands",
    "test_field_reports_ingest",
    "test_isolation",
    "test_manhole",
    "test_poll",
    "test_simulator",
    "test_spool",
    "test_stopping",
    "test_watch",
    "test_wire",
)
"""Modules that wait: on sockets, serial lines, disks, clocks, other processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make fast` leaves out."""
    for item in items:
        if item.path.stem in WIRE:
            item.add_marker("wire")


@pytest.fixture
def scripted() -> Callable[[Callable[[Asked], object]], Scripted]:
    """Makes a scripted gateway, to be entered with ``async with``."""
    return Scripted


@pytest.fixture
def reply() -> Callable[..., bytes]:
    """Makes an answer's bytes, a wrong one on request."""
    return answer
