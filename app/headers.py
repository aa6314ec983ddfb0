"""Every answer's headers, and the refusal of unsafe requests that come from another site."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY = (
    "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'; "
    "base-uri 'none'; object-src 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Adds the headers; answers 403 to a write that another site's page has sent."""

    def __init__(self, app: ASGIApp, base_url: str) -> None:
        self._app = app
        self._https = base_url.startswith("https:")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add(MutableHeaders(scope=message), scope["path"])
            await send(message)

        if scope["method"] not in SAFE and not same_site(Headers(scope=scope)):
            answer = JSONResponse(
                {
                    "type": "about:blank",
                    "title": "Forbidden",
                    "status": 403,
                    "detail": "This request came from another site and was refused.",
                },
                HTTPStatus.FORBIDDEN,
                media_type="application/problem+json",
            )
            await answer(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _add(self, headers: MutableHeaders, path: str) -> None:
        for name, value in HEADERS.items():
            headers[name] = value
        if not path.startswith("/static/"):
            headers.setdefault("cache-control", "no-store")
        if self._https:
            headers["strict-transport-security"] = "max-age=31536000"


def same_site(headers: Headers) -> bool:
    """Whether an unsafe request comes from our own pages, or from no browser at all.

    Browsers say so by Sec-Fetch-Site on https and localhost; elsewhere Origin carries it.
    """
    said = headers.get("sec-fetch-site")
    if said is not None:
        return said in ("same-origin", "none")
    origin = headers.get("origin")
    try:
        return origin is None or urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False  # an origin that no browser would send
