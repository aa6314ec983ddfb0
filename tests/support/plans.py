"""How the server went about statements: their plans as it ran them, told by ``auto_explain``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import Connection

_TOLD = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_timing = off",
    "SET auto_explain.log_format = json",
    "SET auto_explain.log_level = notice",
    "SET client_min_messages = notice",
)


@dataclass(slots=True)
class Plans:
    """What was read in some statements: tables, chunks and partitions, by the kind of scan."""

    scans: list[tuple[str, str]] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        """One plan as the server tells it: a heading, then JSON."""
        told = json.loads(message[message.index("{") :])
        self.statements.append(told["Query Text"])
        self.scans += _scans(told["Plan"])

    def whole(self) -> set[str]:
        """What was read from one end to the other."""
        return {table for kind, table in self.scans if kind in ("Seq Scan", "Parallel Seq Scan")}

    def tables(self) -> set[str]:
        """All that was read."""
        return {table for _, table in self.scans}


def _scans(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What really ran: a part that was excluded while the query ran has no loops."""
    if "Relation Name" in node and node["Actual Loops"]:
        yield node["Node Type"], node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from _scans(child)


@contextmanager
def planned(db: Connection) -> Iterator[Plans]:
    """The plans of every statement that runs on a connection meanwhile, COPY among them."""
    raw = db.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    found = Plans()

    def heard(notice: psycopg.errors.Diagnostic) -> None:
        if "plan:" in (notice.message_primary or ""):
            found.add(notice.message_primary or "")

    for statement in _TOLD:
        raw.execute(statement)
    raw.add_notice_handler(heard)
    try:
        yield found
    finally:
        raw.execute("SET auto_explain.log_min_duration = -1")  # ends the last one, which is told
        raw.remove_notice_handler(heard)
