"""What goes wrong, as HTTP: one table, problem+json for machines, a plain page for people."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from app.templating import page
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


def problem(request: Request, status: int, detail: str) -> Response:
    """An error for whoever asked: the API and health checks get JSON, browsers a page."""
    title = HTTPStatus(status).phrase
    if request.url.path.startswith(("/api/", "/healthz", "/readyz", "/metrics")):
        return JSONResponse(
            {"type": "about:blank", "title": title, "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )
    return page(request, "error.html", {"title": title, "detail": detail}, status=status)


async def _compliance(request: Request, error: Exception) -> Response:
    assert isinstance(error, ComplianceError)
    return problem(request, status_of(error), str(error))


async def _sign_in(request: Request, error: Exception) -> Response:
    if request.url.path.startswith("/api/"):
        return problem(request, HTTPStatus.UNAUTHORIZED, "Sign in first.")
    return RedirectResponse("/signin", HTTPStatus.SEE_OTHER)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = problem(request, error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = " ".join(str(part) for part in first["loc"])
    return problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {first['msg']}.")
