"""The web application: one function puts settings, database, routes and headers together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI
from fastapi.staticfiles import StaticFiles
from sqlalchemy import Engine

from app import errors
from app.api import (
    bills,
    corrections,
    determinations,
    findings,
    frames,
    health,
    holds,
    instruments,
    live,
    points,
    questions,
    results,
    webhooks,
)
from app.api import binding as binding_nouns
from app.api import capacity as capacity_nouns
from app.api import noncompliance as noncompliance_nouns
from app.api import slugs as slug_nouns
from app.api import volumes as volume_nouns
from app.deps import signed_in
from app.headers import Guard
from app.live import Hub
from app.outermost import Outermost
from app.pages import bills as bill_pages
from app.pages import binding as binding_pages
from app.pages import board, commission, declarations, keeping, machines, packs, session, upload
from app.pages import capacity as capacity_pages
from app.pages import corrections as correction_pages
from app.pages import determinations as determination_pages
from app.pages import findings as finding_pages
from app.pages import instruments as instrument_pages
from app.pages import integrity as integrity_pages
from app.pages import noncompliance as noncompliance_pages
from app.pages import points as point_pages
from app.pages import shares as share_pages
from app.pages import slugs as slug_pages
from app.pages import volumes as volume_pages
from app.sizes import Sizes
from compliance.settings import Settings

STATIC = Path(__file__).parent / "static"


def create_app(settings: Settings, engine: Engine) -> FastAPI:
    """The web application on a migrated database."""
    hub = Hub(engine)
    app = FastAPI(
        title="Pretreat",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # its redirects name whatever host the request claims
        lifespan=_lifespan,
    )
    app.state.settings, app.state.engine, app.state.hub = settings, engine, hub
    app.add_middleware(Sizes)
    app.add_middleware(Outermost, engine=engine)
    app.add_middleware(Guard, base_url=settings.base_url)
    errors.install(app)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.include_router(session.router, include_in_schema=False)
    app.include_router(health.router)
    app.include_router(frames.router, prefix="/api/v1")  # by token
    guarded = [Depends(signed_in)]
    for pages in (
        board,
        point_pages,
        volume_pages,
        determination_pages,
        correction_pages,
        finding_pages,
        noncompliance_pages,
        slug_pages,
        integrity_pages,
        packs,
        binding_pages,
        upload,
        bill_pages,
        commission,
        machines,
        keeping,
        share_pages,
        capacity_pages,
        declarations,
        instrument_pages,  # after all that begins with /instruments/new
    ):
        app.include_router(pages.router, dependencies=guarded, include_in_schema=False)
    for nouns in (
        points,
        volume_nouns,
        determinations,
        corrections,
        findings,
        noncompliance_nouns,
        slug_nouns,
        binding_nouns,
        bills,
        results,
        webhooks,
        questions,
        holds,
        capacity_nouns,
        instruments,
        live,
    ):
        app.include_router(nouns.router, prefix="/api/v1", dependencies=guarded)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    hub: Hub = app.state.hub
    hub.start()
    try:
        yield
    finally:
        hub.close()
