"""Signing in and out."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from app import auth
from app.deps import Config, Now, Pool, cookie_name, token_of
from app.inputs import Storable
from app.templating import page

router = APIRouter()


@router.get("/signin")
def form(request: Request) -> Response:
    """The sign-in form."""
    return page(request, "signin.html", {"problem": "", "login": ""})


Login = Annotated[Storable, Form(max_length=200)]


def source_of(request: Request) -> str:
    """Where a sign-in comes from."""
    return auth.source(request.client.host if request.client else "")


Source = Annotated[str, Depends(source_of)]


def wait_of(engine: Pool, at: Now, address: Source, login: Login = "") -> float | str:
    """How many seconds a sign-in waits, or why it is not looked at."""
    try:
        return auth.slowed(engine, login=login, address=address, now=at)
    except auth.TooManyFailures as error:
        return str(error)


async def refusal_of(wait: Annotated[float | str, Depends(wait_of)]) -> str:
    """Wait without holding a thread; why the sign-in is not looked at, or an empty text."""
    if isinstance(wait, str):
        return wait
    await asyncio.sleep(wait)
    return ""


@router.post("/signin")
def sign_in(  # noqa: PLR0913 - what a request brings
    request: Request,
    engine: Pool,
    settings: Config,
    at: Now,
    address: Source,
    refusal: Annotated[str, Depends(refusal_of)],
    login: Login = "",
    password: Annotated[Storable, Form(max_length=1000)] = "",
) -> Response:
    """Open a session, or say in one sentence why not."""
    if refusal:
        context = {"problem": refusal, "login": login}
        return page(request, "signin.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    token = auth.sign_in(
        engine, login=login, password=password, address=address, now=at, old=token_of(request)
    )
    if token is None:
        context = {"problem": "Sign-in name and password do not fit.", "login": login}
        return page(request, "signin.html", context, status=HTTPStatus.UNAUTHORIZED)
    answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        cookie_name(settings),
        token,
        max_age=int(auth.LONGEST.total_seconds()),
        httponly=True,
        secure=settings.base_url.startswith("https:"),
        samesite="lax",
        path="/",
    )
    return answer


@router.post("/signout")
def sign_out(request: Request, engine: Pool, settings: Config) -> Response:
    """End the session: its cookie is dead on the server."""
    auth.sign_out(engine, token_of(request))
    answer = RedirectResponse("/signin", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(cookie_name(settings), path="/")
    return answer
