"""How much a request may bring: what is more is refused in words, before anybody reads it."""

from __future__ import annotations

import re
from http import HTTPStatus

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import uploads
from app.errors import problem

ROOM = 100_000  # beside a file: names, boundaries
USUAL = 100_000
ENCODED = 4 * (uploads.LARGEST // 3 + 1)
UPLOADS = {
    "/upload/check": uploads.LARGEST + ROOM,
    "/upload": ENCODED + ROOM,
    "/api/v1/results": uploads.LARGEST + ROOM,
}
"""Of the addresses that take a file, in bytes; the second takes it again, as text."""
AT_A_POINT = re.compile(
    r"(?:/points/[^/]+|/api/v1/channels/[^/]+)/(?:determinations|corrections)(/check)?"
)
"""Addresses that take a file about the readings of a point: first it, then it again, as text."""
DRAINED = 50_000_000
"""So much more is taken and thrown away: a browser that is cut off shows no answer."""
TOO_LONG = f"The request is longer than {USUAL:,} bytes, the most this address takes; send less."


class Sizes:
    """Answers 413 with the limit in words."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = largest(scope["path"])
        says = TOO_LONG if most == USUAL else uploads.TOO_LARGE
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > most:
            if int(declared) <= DRAINED:
                await _drain(receive)
            refused = problem(Request(scope), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
            await refused(scope, receive, send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
            return message

        await self._app(scope, counted, send)


def largest(path: str) -> int:
    """The most bytes that an address takes."""
    if AT_A_POINT.fullmatch(path):
        return ENCODED + ROOM
    return UPLOADS.get(path, USUAL)


async def _drain(receive: Receive) -> None:
    while (message := await receive())["type"] == "http.request" and message.get("more_body"):
        continue
