"""A request that a program may send twice: what was asked for, as one digest beside its key."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import Annotated

from fastapi import Depends, Header, Request

from app.deps import Pool, SignedIn
from app.inputs import Storable
from compliance.errors import Refused
from compliance.records import turns

PATIENCE = 30.0
"""Seconds that a request waits for another one with the same key."""


def _one_at_a_time(
    viewer: SignedIn,
    engine: Pool,
    key: Annotated[Storable | None, Header(alias="idempotency-key", max_length=200)] = None,
) -> Iterator[str | None]:
    """The key of a request, while no other request of that person with that key is worked on."""
    if not key:
        yield None
        return
    until = time.monotonic() + PATIENCE
    while (turn := turns.take(engine, viewer.person_id, key)) is None:
        if time.monotonic() > until:
            raise Refused("a request with this Idempotency-Key is still worked on; send it again")
        time.sleep(0.05)  # without a connection: the one that is worked on needs them
    try:
        yield key
    finally:
        turns.give_back(turn)


Key = Annotated[str | None, Depends(_one_at_a_time)]
"""The Idempotency-Key a request came with: the same one asks for the same answer."""


def digest(request: Request, parts: Iterable[bytes | str | int | None]) -> str:
    """SHA-256 of method, path and the parts of the body, each told from the next by its length."""
    found = hashlib.sha256()
    for part in (request.method, request.url.path, *parts):
        written = part if isinstance(part, bytes) else repr(part).encode("utf-8", "replace")
        found.update(b"%d:" % len(written) + written)
    return found.hexdigest()
