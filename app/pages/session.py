"""Signing in and out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from app import auth
from app.deps import Config, Now, Pool, cookie_name, token_of
from app.templating import page

router = APIRouter()


@router.get("/signin")
def form(request: Request) -> Response:
    """The sign-in form."""
    return page(request, "signin.html", {"problem": "", "login": ""})


@router.post("/signin")
def sign_in(
    request: Request,
    engine: Pool,
    settings: Config,
    at: Now,
    login: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Open a session, or say in one sentence why not."""
    try:
        token = auth.sign_in(engine, login=login, password=password, now=at, old=token_of(request))
    except auth.TooManyFailures as error:
        context = {"problem": str(error), "login": login}
        return page(request, "signin.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
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
