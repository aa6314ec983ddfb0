"""A request that a program may send twice: what was asked for, as one digest beside its key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated

from fastapi import Header, Request

from app.inputs import Storable

Key = Annotated[Storable | None, Header(alias="idempotency-key", max_length=200)]
"""The Idempotency-Key a request came with: the same one asks for the same answer."""


def digest(request: Request, parts: Iterable[bytes | str | int | None]) -> str:
    """SHA-256 of method, path and the parts of the body, each told from the next by its length."""
    found = hashlib.sha256()
    for part in (request.method, request.url.path, *parts):
        written = part if isinstance(part, bytes) else repr(part).encode("utf-8", "replace")
        found.update(b"%d:" % len(written) + written)
    return found.hexdigest()
