"""`pretreat serve`: the web process."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
import uvicorn
from fastapi import FastAPI

from app.live import Hub
from app.main import create_app
from compliance.errors import SettingsError
from compliance.records import schema
from compliance.records.engine import opened
from compliance.settings import load

command = typer.Typer(add_completion=False)

STOPS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that ends its open streams when it is told to stop, and then returns to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals, and do not raise them again: the database is let go in order."""
        kept = {one: signal.signal(one, self.handle_exit) for one in STOPS}
        try:
            yield
        finally:
            for one, handler in kept.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: streams first, since they would be waited for."""
        app = self.config.app
        if isinstance(app, FastAPI):
            hub: Hub = app.state.hub
            hub.close()
        super().handle_exit(sig, frame)


@command.callback(invoke_without_command=True)
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on.")] = 8000,
) -> None:
    """The web process: pages, API and live updates.

    Example: pretreat serve --port 8001
    """
    settings = load()
    listening = _bound(host, port)
    with listening, opened(settings) as engine:
        schema.require(engine)
        config = uvicorn.Config(
            create_app(settings, engine),
            log_level="warning",
            timeout_graceful_shutdown=3,
            server_header=False,
            proxy_headers=False,
        )
        where = listening.getsockname()
        print(f"pretreat: http://{where[0]}:{where[1]}", flush=True)
        Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises: SettingsError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SettingsError(
            f"cannot listen on {host} port {port} ({reason}); choose another with --port"
        ) from None
    return made
