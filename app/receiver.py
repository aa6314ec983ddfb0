"""A small webhook receiver for the demo: verifies each signature and shows what came."""

from __future__ import annotations

import html
from collections import deque
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

KEEP = 50
LARGEST = 1_000_000
STYLE = "body{font:16px system-ui;margin:2rem;max-width:60rem}pre{overflow-x:auto}"


class Receiver(ThreadingHTTPServer):
    """Keeps the last messages that verified, newest first, and counts those that did not."""

    daemon_threads = True

    def __init__(self, port: int, secret: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.webhook = Webhook(secret)
        self.messages: deque[tuple[datetime, str, str]] = deque(maxlen=KEEP)
        self.seen: set[str] = set()
        self.refused = 0


class Handler(BaseHTTPRequestHandler):
    """POST / takes a webhook, GET / shows what came."""

    server: Receiver

    def do_POST(self) -> None:
        """204 when the signature over the raw bytes verifies, else 400."""
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST:
            self._answer(400)
            return
        body = self.rfile.read(int(length))
        try:
            self.server.webhook.verify(body, dict(self.headers.items()), json_parse=False)
        except (WebhookVerificationError, ValueError):
            self.server.refused += 1
            self._answer(400)
            return
        self._keep(self.headers["webhook-id"], body.decode())
        self._answer(204)

    def _keep(self, message_id: str, body: str) -> None:
        if message_id not in self.server.seen:  # a retry of what we have: same id
            self.server.seen.add(message_id)
            self.server.messages.appendleft((datetime.now(UTC), message_id, body))

    def do_GET(self) -> None:
        """A page of the last messages."""
        shown = "".join(
            f"<h2>{at:%H:%M:%S} UTC · {html.escape(name)}</h2><pre>{html.escape(body)}</pre>"
            for at, name, body in tuple(self.server.messages)
        )
        page = (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>Receiver</title>"
            f"<style>{STYLE}</style><h1>Webhooks received</h1><p>{len(self.server.seen)} "
            f"verified, {self.server.refused} refused; the last {KEEP} at most are shown.</p>"
            f"{shown}</html>"
        )
        self._answer(200, page.encode())

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on the terminal: the page shows it."""


def run(port: int, secret: str) -> None:
    """Receive until the process ends. Raises: OSError when the port is in use."""
    with Receiver(port, secret) as server:
        server.serve_forever()
