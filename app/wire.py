"""One HTTP request to one checked address, with one deadline for all of it: dial to last byte."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpcore2
import httpx2

FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
    httpx2.InvalidURL,
)
"""What may go wrong on the way."""
ANSWER_BYTES = 4096
PIECE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a receiver said: its status, its headers in lower case, the first bytes of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What is dialled: an address that may be, and its port."""

    address: IPv4Address | IPv6Address
    port: int


class TooSlow(httpcore2.TimeoutException):
    """The deadline has passed."""


class Deadline:
    """A moment by which everything has to be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left. Raises: TooSlow when none are."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TooSlow(f"no whole answer within {self.seconds:g} s")
        return left

    @contextmanager
    def kept(self) -> Iterator[float]:
        """A wait that ends with the deadline, in the same words however it ends."""
        left = self.left()
        try:
            yield left
        except httpcore2.TimeoutException:
            raise TooSlow(f"no whole answer within {self.seconds:g} s") from None


class _Stream(httpcore2.NetworkStream):
    """A connection on which no wait is longer than what is left."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self._deadline.kept() as seconds:
            return self._inner.read(max_bytes, seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            with self._deadline.kept() as seconds:
                self._inner.write(buffer[start : start + PIECE], seconds)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        with self._deadline.kept() as seconds:
            inner = self._inner.start_tls(ssl_context, server_hostname, seconds)
        return _Stream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Pinned(httpcore2.NetworkBackend):
    """Dials the one address and port that were checked, whatever name the request bears."""

    def __init__(self, where: Where, deadline: Deadline) -> None:
        self._where, self._deadline = where, deadline
        self._dial = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        with self._deadline.kept() as seconds:
            made = self._dial.connect_tcp(
                str(self._where.address), self._where.port, seconds, local_address, socket_options
            )
        return _Stream(made, self._deadline)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    where: Where,
    deadline: Deadline,
) -> Answer:
    """POST to a checked address; redirects are answers like any other.

    What of the body has not come by the deadline is left out.
    Raises: httpcore2's network, timeout and protocol errors.
    """
    target = httpx2.URL(url)
    named = httpcore2.URL(
        scheme=target.raw_scheme, host=target.raw_host, port=target.port, target=target.raw_path
    )
    own = [(b"host", target.netloc), (b"content-length", b"%d" % len(body))]
    sent = [*own, *((name.encode(), value.encode()) for name, value in headers.items())]
    with (
        httpcore2.ConnectionPool(
            ssl_context=_trusted(), network_backend=_Pinned(where, deadline)
        ) as pool,
        pool.stream("POST", named, headers=sent, content=body) as answer,
    ):
        return Answer(
            status=answer.status,
            headers={
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in answer.headers
            },
            body=_first_bytes(answer),
        )


def _first_bytes(answer: httpcore2.Response) -> bytes:
    kept = b""
    try:
        for chunk in answer.iter_stream():
            kept += chunk
            if len(kept) >= ANSWER_BYTES:
                break
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
        return kept[:ANSWER_BYTES]
    return kept[:ANSWER_BYTES]


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)
