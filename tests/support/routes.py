"""The routes of an application as it knows them itself: no hand-made list can forget one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path, with the names of what a request may bring."""

    method: str
    path: str
    in_path: tuple[str, ...]
    in_query: tuple[str, ...]
    in_body: tuple[str, ...]


def routes(app: FastAPI) -> list[Route]:
    """Every route, in order of path."""
    found: set[Route] = set()
    for route in app.routes:
        contexts = getattr(route, "effective_route_contexts", None)
        for one in contexts() if contexts else [route]:
            for method in getattr(one, "methods", None) or ():
                found.add(_route(one, method))
    return sorted(found, key=lambda one: (one.path, one.method))


def _route(one: Any, method: str) -> Route:
    dependant = getattr(one, "dependant", None)
    brought = [
        tuple(part.alias for part in getattr(dependant, name, ()))
        for name in ("path_params", "query_params", "body_params")
    ]
    return Route(
        method=method, path=one.path, in_path=brought[0], in_query=brought[1], in_body=brought[2]
    )
