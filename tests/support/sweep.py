"""A crash at every step: the n-th statement fails, for each n, and then all is tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, event


class Crash(RuntimeError):
    """The statement at which a process dies."""


def until_it_passes(engine: Engine, work: Callable[[], object], *, most: int = 5000) -> int:
    """Let ``work`` die at its first statement, then at its second … until it passes; how many died.

    Each attempt must leave the database as it found it, or the next would not find its work.
    """
    for at in range(1, most):
        with _dying(engine, at) as counted:
            try:
                work()
            except Crash:
                continue
        if counted[0] < at:
            return at - 1
    raise AssertionError(f"still dying after {most} attempts")


@contextmanager
def _dying(engine: Engine, at: int) -> Iterator[list[int]]:
    counted = [0]

    def count(*_: object) -> None:
        counted[0] += 1
        if counted[0] == at:
            raise Crash(f"statement {at}")

    event.listen(engine, "before_cursor_execute", count)
    try:
        yield counted
    finally:
        event.remove(engine, "before_cursor_execute", count)
