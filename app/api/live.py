"""The stream of live facts: the one handler that is async, since it stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app import auth
from app.deps import Pool, Visible, token_of
from app.live import Hub, newest

router = APIRouter(tags=["live"])

LOOK_AGAIN = 30.0
"""How often, in seconds, an open stream asks whether its session still lives."""


@router.get("/live", response_class=EventSourceResponse)
async def live(request: Request, scope: Visible, engine: Pool) -> AsyncIterator[ServerSentEvent]:
    """Facts as they happen: ``readings``, ``findings``, ``beat``; ``signed-out`` ends it."""
    hub: Hub = request.app.state.hub
    loop = asyncio.get_running_loop()
    checked = loop.time()
    with hub.subscribed(scope) as stream:
        first = await run_in_threadpool(newest, engine, scope)
        yield ServerSentEvent(event="readings", data=first, retry=3000)
        while True:
            try:
                fact = await asyncio.wait_for(stream.queue.get(), LOOK_AGAIN)
            except TimeoutError:
                fact = None
            if loop.time() - checked > LOOK_AGAIN:
                checked = loop.time()
                if not await run_in_threadpool(_alive, request, engine):
                    yield ServerSentEvent(event="signed-out", data={})
                    return
            if fact is None:
                continue
            if fact.name is None:
                return
            yield ServerSentEvent(event=fact.name, data=fact.content)


def _alive(request: Request, engine: Pool) -> bool:
    token = token_of(request)
    return auth.viewer_of(engine, token, now=datetime.now(UTC), touch=False) is not None
