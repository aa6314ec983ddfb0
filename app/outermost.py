"""The outermost loop of a request: what nobody foresaw is noted, and answered in a sentence."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import uploads
from app.errors import first_line, problem
from compliance.records import health

log = structlog.get_logger(__name__)

NAME = "web"
LONGEST = 500
NUL_SAYS = "The address holds a NUL character; nothing has such a name."
TOO_LONG_SAYS = "The request is longer than anything this address takes; send less."
FAULT_SAYS = (
    "The program could not do this, and has noted the fault. Try again; if it stays, tell the "
    "administrator what you did and when."
)


class Outermost:
    """Refuses what no record can be called, says why a body is too large, catches what is left."""

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
        watched = _Watched(scope, receive, send)
        try:
            await self._app(scope, receive, watched.send)
        except ClientDisconnect:
            return
        except Exception as error:
            log.exception("a request failed", method=scope["method"], path=scope["path"])
            said = f"{scope['method']} {scope['path']}: {type(error).__name__}: {first_line(error)}"
            await run_in_threadpool(_note, self._engine, said)
            if watched.began:
                raise  # too late for an answer: the server cuts the connection
            await watched.answer(problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, FAULT_SAYS))


class _Watched:
    """A request's answer on its way; one that says "too large" is put into our words."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self.began = False
        self._replaced = False

    async def send(self, message: Message) -> None:
        if self._replaced:
            return
        is_start = message["type"] == "http.response.start"
        if is_start and message["status"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            self._replaced = True
            detail = uploads.TOO_LARGE if _is_upload(self._scope["path"]) else TOO_LONG_SAYS
            await self.answer(
                problem(Request(self._scope), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            )
            return
        self.began = self.began or is_start
        await self._send(message)

    async def answer(self, said: Response) -> None:
        self.began = True
        await said(self._scope, self._receive, self._send)


def _is_upload(path: str) -> bool:
    return path.startswith(("/upload", "/api/v1/results"))


def _has_nul(query: bytes) -> bool:
    return b"\x00" in query or b"%00" in query


def _note(engine: Engine, what: str) -> None:
    try:
        with engine.begin() as db:
            health.fault(db, NAME, what.replace("\x00", "\ufffd")[:LONGEST])
    except SQLAlchemyError:
        log.warning("the fault could not be noted: the database is away", what=what)
