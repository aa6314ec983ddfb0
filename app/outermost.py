"""The outermost loop of a request: what nobody foresaw is noted, and answered in a sentence."""

from __future__ import annotations

import traceback
from http import HTTPStatus

import structlog
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import first_line, problem
from compliance.records import health

log = structlog.get_logger(__name__)

NAME = "web"
LONGEST = 500
NUL_SAYS = "The address holds a NUL character; nothing has such a name."
FAULT_SAYS = (
    "The program could not do this, and has noted the fault. Try again; if it stays, tell the "
    "administrator what you did and when."
)


class Outermost:
    """Refuses an address that no record can have, and catches what nobody else has."""

    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if "\x00" in scope["path"] or _has_nul(scope["query_string"]):
            await problem(request, HTTPStatus.BAD_REQUEST, NUL_SAYS)(scope, receive, send)
            return
        began = False

        async def watched(message: Message) -> None:
            nonlocal began
            began = began or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as error:
            await run_in_threadpool(self._note, scope, error)
            if began:
                raise  # too late for an answer: the server cuts the connection
            answer = problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, FAULT_SAYS)
            await answer(scope, receive, send)

    def _note(self, scope: Scope, error: Exception) -> None:
        """Write a fault down, for the health page and, with its trace, for whoever mends it.

        The trace is without the values of variables: a password may be among them.
        """
        what = f"{scope['method']} {scope['path']}: {type(error).__name__}: {first_line(error)}"
        trace = "".join(traceback.format_exception(error))
        log.error("a request failed", what=what, trace=trace)
        try:
            with self._engine.begin() as db:
                health.fault(db, NAME, what[:LONGEST])
        except SQLAlchemyError:
            log.warning("the fault could not be noted: the database is away", what=what)


def _has_nul(query: bytes) -> bool:
    return b"\x00" in query or b"%00" in query
