"""What goes wrong, as HTTP: one table, problem+json for machines, a plain page for people."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import psycopg
import sqlalchemy.exc
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.inputs import NUL
from app.templating import page
from app.validation import sentence
from compliance.errors import (
    ComplianceError,
    InputError,
    InsufficientData,
    NotFound,
    NotInForce,
    Refused,
    RuleError,
    SettingsError,
    StorageError,
)

log = structlog.get_logger(__name__)

STATUS: dict[type[ComplianceError], HTTPStatus] = {
    NotInForce: HTTPStatus.NOT_FOUND,
    NotFound: HTTPStatus.NOT_FOUND,
    InsufficientData: HTTPStatus.CONFLICT,
    Refused: HTTPStatus.FORBIDDEN,
    RuleError: HTTPStatus.INTERNAL_SERVER_ERROR,
    InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    SettingsError: HTTPStatus.INTERNAL_SERVER_ERROR,
    StorageError: HTTPStatus.SERVICE_UNAVAILABLE,
}
AWAY: tuple[type[Exception], ...] = (
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
    psycopg.OperationalError,
)
"""What the driver and the pool say when no database answers."""
AWAY_SAYS = "The database does not answer at the moment; try again in a few seconds."
RETRY_AFTER = "5"
SAYS = {
    HTTPStatus.NOT_FOUND: "There is nothing at this address.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not take such a request.",
    HTTPStatus.BAD_REQUEST: "The request cannot be read; send it again in the form that "
    "/api/docs describes.",
}
"""Our words where the framework raises one of its own."""


class SignInFirst(Exception):
    """Nobody is signed in: pages lead to the sign-in, the API answers 401."""


def status_of(error: ComplianceError) -> HTTPStatus:
    """The status of an error: that of its nearest ancestor in the table."""
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return HTTPStatus.INTERNAL_SERVER_ERROR


def install(app: FastAPI) -> None:
    """Tell an app how errors are answered."""
    app.add_exception_handler(ComplianceError, _compliance)
    app.add_exception_handler(SignInFirst, _sign_in)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(sqlalchemy.exc.DataError, _unstorable)
    for kind in AWAY:
        app.add_exception_handler(kind, _away)


def problem(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error for whoever asked: the API and health checks get JSON, browsers a page."""
    title = HTTPStatus(status).phrase
    answer: Response
    if request.url.path.startswith(("/api/", "/healthz", "/readyz", "/metrics")):
        answer = JSONResponse(
            {"type": "about:blank", "title": title, "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )
    else:
        answer = page(request, "error.html", {"title": title, "detail": detail}, status=status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["retry-after"] = RETRY_AFTER
    answer.headers.update(headers or {})
    return answer


async def _compliance(request: Request, error: Exception) -> Response:
    assert isinstance(error, ComplianceError)
    return problem(request, status_of(error), str(error))


async def _sign_in(request: Request, error: Exception) -> Response:
    if request.url.path.startswith("/api/"):
        return problem(request, HTTPStatus.UNAUTHORIZED, "Sign in first.")
    return RedirectResponse("/signin", HTTPStatus.SEE_OTHER)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = SAYS.get(HTTPStatus(error.status_code), str(error.detail))
    return problem(request, error.status_code, said, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    is_nul = first["type"] == NUL
    status = HTTPStatus.BAD_REQUEST if is_nul else HTTPStatus.UNPROCESSABLE_ENTITY
    return problem(request, status, sentence(first))


async def _unstorable(request: Request, error: Exception) -> Response:
    log.warning("a value that cannot be stored", path=request.url.path, reason=first_line(error))
    detail = "The request holds a value that no record can have; correct it and send it again."
    return problem(request, HTTPStatus.BAD_REQUEST, detail)


async def _away(request: Request, error: Exception) -> Response:
    log.warning("no database", path=request.url.path, reason=first_line(error))
    return problem(request, HTTPStatus.SERVICE_UNAVAILABLE, AWAY_SAYS)


def first_line(error: Exception) -> str:
    """What an exception says, without the statement that a driver may print under it."""
    return str(error).partition("\n")[0].replace("\x00", "\ufffd")
