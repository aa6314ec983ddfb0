"""What a handler asks for: Db, Now, SignedIn and the like, as annotated types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Connection, Engine

from app import auth
from app.errors import SignInFirst
from app.inputs import Id
from compliance.model.sites import Viewer
from compliance.records import places
from compliance.records.places import Signal
from compliance.records.scope import Scope
from compliance.settings import Settings


def engine_of(request: Request) -> Engine:
    """The web process's engine."""
    engine: Engine = request.app.state.engine
    return engine


def settings_of(request: Request) -> Settings:
    """The web process's settings."""
    settings: Settings = request.app.state.settings
    return settings


def now() -> datetime:
    """The instant of a request."""
    return datetime.now(UTC)


def cookie_name(settings: Settings) -> str:
    """The session cookie's name: with the __Host- prefix wherever there is https."""
    return "__Host-session" if settings.base_url.startswith("https:") else "session"


def token_of(request: Request) -> str:
    """The session token a request came with, or an empty string."""
    return request.cookies.get(cookie_name(settings_of(request)), "")


def signed_in(
    request: Request,
    engine: Annotated[Engine, Depends(engine_of)],
    at: Annotated[datetime, Depends(now)],
) -> Viewer:
    """The viewer of a request. Raises: SignInFirst."""
    viewer = auth.viewer_of(engine, token_of(request), now=at)
    if viewer is None:
        raise SignInFirst
    request.state.viewer = viewer
    return viewer


def connection(engine: Annotated[Engine, Depends(engine_of)]) -> Iterator[Connection]:
    """A transaction for one handler, committed before its answer is sent."""
    with engine.begin() as db:
        yield db


def scope_of(viewer: Annotated[Viewer, Depends(signed_in)]) -> Scope:
    """Whose rows the viewer of a request may see."""
    return auth.visible_to(viewer)


Db = Annotated[Connection, Depends(connection, scope="function")]
Pool = Annotated[Engine, Depends(engine_of)]
Config = Annotated[Settings, Depends(settings_of)]
Now = Annotated[datetime, Depends(now)]
SignedIn = Annotated[Viewer, Depends(signed_in)]
Visible = Annotated[Scope, Depends(scope_of)]


def channel_of(
    scope: Visible, engine: Annotated[Engine, Depends(engine_of)], channel_id: Id
) -> Signal:
    """The channel that an address names, looked for before anything else. Raises: NotFound."""
    with engine.connect() as db:
        return places.one(db, scope, channel_id)


Here = Annotated[Signal, Depends(channel_of)]
