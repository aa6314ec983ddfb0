"""Questions of people to instruments: taken from the database, answered over the line in use."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Protocol

import structlog
from sqlalchemy import Engine

from compliance.errors import ComplianceError
from compliance.model.endpoints import Endpoint, Transport, endpoint
from compliance.model.reach import Reach
from compliance.model.readings import reasons
from compliance.model.register_map import Order
from compliance.records import questions
from compliance.records.questions import Asks, Question
from ingest import commission
from ingest.between import Between
from ingest.client import Link
from ingest.commission import Shown
from ingest.errors import LinkError, NotConnected
from ingest.holding import Maps
from ingest.office import AWAY

LOOKED_SECONDS = 1.0
ANSWER_SECONDS = 25.0
"""Less than a question waits, so that what came until then is told."""
LINK_SECONDS = 1.0
LOOK_UP_SECONDS = 5.0
log = structlog.get_logger("ingest")


class Desk(Protocol):
    """Where questions come from and answers go. Both may raise one of ``office.AWAY``."""

    def take(self) -> Question | None:
        """The next question of this worker."""

    def answer(self, question: Question, content: Mapping[str, Any] | None, problem: str) -> None:
        """What came of it."""


class DatabaseDesk:
    """Questions in a database."""

    def __init__(self, engine: Engine, *, worker: str) -> None:
        self._engine, self._worker = engine, worker

    def take(self) -> Question | None:
        """The next question of this worker."""
        with self._engine.begin() as db:
            return questions.take(db, self._worker)

    def answer(self, question: Question, content: Mapping[str, Any] | None, problem: str) -> None:
        """What came of it."""
        with self._engine.begin() as db:
            questions.answer(db, question.id, content=content, problem=problem)


class Lines(Protocol):
    """The lines to gateways that are kept here already."""

    def line(self, gateway: int) -> Between | None:
        """The line over which a gateway is polled, by its id."""


async def attend(
    desk: Desk, lines: Lines, known: Maps, *, reach: Reach, fault: Callable[[str], None]
) -> None:
    """Answer questions, one at a time, until cancelled.

    reach: how far they may go; fault: told of what should not have happened.
    """
    while True:
        question = None
        try:
            question = await asyncio.to_thread(desk.take)
            if question is not None:
                content, problem = await _answered_whatever_comes(
                    question, lines, known, reach=reach, fault=fault
                )
                await asyncio.to_thread(desk.answer, question, content, problem)
        except AWAY:
            pass  # the office says so; the question expires with its own sentence
        except Exception as error:  # the outermost loop of this task
            log.exception("question", number=question.id if question else 0, reason=str(error))
            fault(f"question {question.id if question else 0}: {type(error).__name__}: {error}")
        if question is None:
            await asyncio.sleep(LOOKED_SECONDS)


async def _answered_whatever_comes(
    question: Question,
    lines: Lines,
    known: Maps,
    *,
    reach: Reach,
    fault: Callable[[str], None],
) -> tuple[dict[str, Any] | None, str]:
    """The answer to a question; a fault of ours is written down and is an answer too."""
    try:
        return await answered(question, lines, known, reach=reach)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        log.exception("question", number=question.id, reason=what)
        fault(f"question {question.id} to {question.gateway.name}: {what}")
        return None, "the worker failed over the question, and wrote the fault down; ask again"


async def answered(
    question: Question, lines: Lines, known: Maps, *, reach: Reach
) -> tuple[dict[str, Any] | None, str]:
    """The answer to a question, or why there is none.

    reach: how far a connection that is opened for it may go; a line in use was set up by others.
    """
    asked = datetime.now(UTC).isoformat()
    line = lines.line(question.gateway.id)
    try:
        if line is not None:
            try:
                return await _ask(question, line, known, asked)
            finally:
                line.release()
        g = question.gateway
        place = await _within(endpoint(g.host, g.port, g.transport), reach)
        async with Link(place, LINK_SECONDS) as link:
            return await _ask(question, link, known, asked)
    except (LinkError, ComplianceError) as error:
        return None, str(error)


async def _within(place: Endpoint, reach: Reach) -> Endpoint:
    """A place that may be asked, by the very address that was looked at.

    Raises: NotConnected for a name that leads nowhere; InputError for what is out of reach.
    """
    if place.transport is Transport.SERIAL:
        reach.require(place)
        return place
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(
                place.host, place.port, type=socket.SOCK_STREAM
            )
    except (OSError, UnicodeError, TimeoutError):
        raise NotConnected(f"{place.host} leads to no address; check the name") from None
    addresses = [ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    reach.require(place, addresses)
    return replace(place, host=str(addresses[0]))


async def _ask(
    question: Question, line: commission.Line, known: Maps, asked: str
) -> tuple[dict[str, Any] | None, str]:
    if question.asks is Asks.SCAN:
        return {"asked_at": asked, **await _scan(question.units, line)}, ""
    of = known.newest(question.map_name or "")
    order = None if question.order is None else Order(question.order)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            shown = await commission.read_unit(line, question.units[0], of, order=order)
    except TimeoutError:
        return (
            None,
            f"unit {question.units[0]} did not give all registers in {ANSWER_SECONDS:.0f} s",
        )
    return {"asked_at": asked, "entries": [_entry(one) for one in shown]}, ""


async def _scan(units: tuple[int, int], line: commission.Line) -> dict[str, Any]:
    """Which units answer, as far as time allows."""
    found, looked = [], units[0] - 1
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            for unit in range(units[0], units[1] + 1):
                found += [{"unit": u, "says": s} for u, s in await commission.scan(line, [unit])]
                looked = unit
    except TimeoutError:
        pass
    return {"units": found, "looked_to": looked}


def _entry(one: Shown) -> dict[str, Any]:
    return {
        "name": one.entry.name,
        "printed": one.entry.printed,
        "wire": f"{one.entry.table.value} {one.entry.address}",
        "words": [f"0x{word:04X}" for word in one.words],
        "unit": "% of span" if one.entry.share else one.entry.unit_text,
        "problem": one.problem,
        "values": [
            {
                "order": None if order is None else order.value,
                "value": None if decoded.value is None else str(decoded.value),
                "text": decoded.text,
                "quality": decoded.grade.value,
                "reason": decoded.reason or reasons(decoded.quality),
            }
            for order, decoded in one.decoded
        ],
    }
