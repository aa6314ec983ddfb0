"""A gateway that answers as a script says: late, wrong, short, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.faulty import Asked, Scripted, answer


@pytest.fixture
def scripted() -> Callable[[Callable[[Asked], object]], Scripted]:
    """Makes a scripted gateway, to be entered with ``async with``."""
    return Scripted


@pytest.fixture
def reply() -> Callable[..., bytes]:
    """Makes an answer's bytes, a wrong one on request."""
    return answer
