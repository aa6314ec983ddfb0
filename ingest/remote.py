"""A remote site: frames go over HTTPS to a server of ours in place of a database."""

from __future__ import annotations

import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import structlog

from compliance.errors import ComplianceError, SettingsError, StorageError
from compliance.records import maps, plans
from compliance.records.arrivals import Arrived
from compliance.records.batch import Frame, encode
from ingest.holding import Holding, Maps, map_names

SECONDS = 20.0
RENEWED_SECONDS = 30.0
DOOR = "/api/v1/frames"
REFUSED_FOR_GOOD = frozenset(
    {HTTPStatus.CONFLICT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)
"""The server would refuse these very bytes again."""
log = structlog.get_logger("ingest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The server that a remote site sends to, and the token that it knows us by."""

    url: str
    token: str = field(repr=False)

    @classmethod
    def read(cls, url: str, token_file: Path) -> Remote:
        """Check the address and read the token.

        Raises: SettingsError for an address without TLS (but on this machine), and for a token
        file that is absent, empty or readable for others.
        """
        parts = httpx2.URL(url)
        here = parts.host in ("127.0.0.1", "::1", "localhost")
        if parts.scheme != "https" and not (parts.scheme == "http" and here):
            raise SettingsError(f"--forward is {url!r}; expected https:// and the server's name")
        try:
            mode, token = token_file.stat().st_mode, token_file.read_text().strip()
        except (OSError, UnicodeDecodeError):
            raise SettingsError(f"the token file {token_file} cannot be read") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SettingsError(
                f"the token file {token_file} is open to other accounts; run chmod 600 on it"
            )
        if not token or not token.isascii():
            raise SettingsError(
                f"the token file {token_file} holds no token; expected what token add printed"
            )
        return cls(url=url.rstrip("/"), token=token)

    @contextmanager
    def opened(self) -> Iterator[httpx2.Client]:
        """A client of the server."""
        with httpx2.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {self.token}"},
            timeout=SECONDS,
        ) as client:
            yield client


class ToServer:
    """Carries a worker's frames to a server; it stores each once, by worker and sequence.

    folder: where frames are kept that the server will never take.
    """

    def __init__(self, client: httpx2.Client, *, folder: Path) -> None:
        self._client, self._folder = client, folder

    def store(self, frames: Sequence[Frame]) -> Arrived:
        """Send frames together; where they are refused, one by one.

        Raises: StorageError while the server is away or does not know us.
        """
        answer = _said(self._client, "POST", b"".join(map(encode, frames)))
        if answer.status_code not in REFUSED_FOR_GOOD:
            return _arrived(answer)
        if len(frames) > 1:
            return sum((self.store([one]) for one in frames), Arrived())
        self._keep(encode(frames[0]), f"{frames[0].sequence}", _reason(answer))
        return Arrived(0, 1)

    def set_aside(self, content: bytes, *, reason: str) -> None:
        """Keep damaged bytes here; the log has the reason."""
        self._keep(content, f"damaged-{time.time_ns()}", reason)

    def _keep(self, content: bytes, name: str, reason: str) -> None:
        path = self._folder / "cut" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        log.error("kept here", file=str(path), reason=reason)


def _arrived(answer: httpx2.Response) -> Arrived:
    told = answer.json()
    return Arrived(int(told["stored"]), int(told["quarantined"]))


class RemoteOffice:
    """The office of a remote site: its token decides what it polls.

    known: the site's register maps, which it publishes so that the server's pages can show them.
    """

    def __init__(self, client: httpx2.Client, *, known: Maps) -> None:
        self._client, self._maps = client, known
        self._seen: bytes | None = None
        self._unpublished: list[str] = []
        self._next_renewal = self._next_beat = self._next_map = 0.0

    def renew(self) -> Holding | None:
        """Ask twice a minute what to poll; publish its maps once that is known."""
        if time.monotonic() < self._next_renewal:
            self._publish()
            return None
        content = _said(self._client, "GET", None, "/plan").content
        self._next_renewal = time.monotonic() + RENEWED_SECONDS
        if content == self._seen:
            return None
        found = plans.decoded(content)
        self._seen, self._unpublished = content, list(map_names(found))
        log.info("share", state=f"{len(found)} gateways by its token")
        return Holding(plans=found)

    def _publish(self) -> None:
        """Send the maps that are not yet published; after a failure half a minute later again."""
        if not self._unpublished or time.monotonic() < self._next_map:
            return
        self._next_map = time.monotonic() + RENEWED_SECONDS
        while self._unpublished:
            self._publish_one(self._unpublished[-1])
            self._unpublished.pop()
        self._next_map = 0.0

    def _publish_one(self, name: str) -> None:
        try:
            found = self._maps[name]
        except ComplianceError:
            return  # told where its gateway cannot be polled
        answer = _said(self._client, "POST", maps.content(found), "/map")
        if not answer.is_success:
            log.error("map", name=name, state=_reason(answer))

    def hand_over(self, gateways: Collection[int]) -> None:
        """Nobody else could poll them."""

    def beat(self, detail: Mapping[str, Any]) -> None:
        """Say twice a minute how the worker is."""
        if time.monotonic() >= self._next_beat:
            self._next_beat = time.monotonic() + RENEWED_SECONDS
            _said(self._client, "POST", dict(detail), "/beat")

    def fault(self, what: str) -> None:
        """Have the server write down what should not have happened."""
        _said(self._client, "POST", {"what": what}, "/fault")

    def leave(self) -> None:
        """Its gateways stay its own."""


def _said(
    client: httpx2.Client, method: str, content: bytes | dict[str, Any] | None, path: str = ""
) -> httpx2.Response:
    """What the server answers. Raises: StorageError where that is no answer to be had."""
    body: dict[str, Any] = {"json": content} if isinstance(content, dict) else {}
    if isinstance(content, bytes):
        body = {"content": content, "headers": {"content-type": "application/octet-stream"}}
    try:
        answer = client.request(method, DOOR + path, **body)
    except httpx2.HTTPError as error:
        raise StorageError(
            f"no server answers at {client.base_url} ({error or type(error).__name__})"
        ) from None
    if answer.is_success or answer.status_code in REFUSED_FOR_GOOD:
        return answer
    raise StorageError(f"the server at {client.base_url} refuses: {_reason(answer)}")


def _reason(answer: httpx2.Response) -> str:
    try:
        told = answer.json()
        return f"{answer.status_code} {told['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason_phrase}"
