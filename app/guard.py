"""Where a webhook may go: an address is resolved once, every answer is checked, then dialled."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, urlsplit

from app.wire import Where
from compliance.errors import Refused
from compliance.settings import Network

Address = IPv4Address | IPv6Address
GLOBAL_IPV6 = IPv6Network("2000::/3")
"""What is assigned at all: outside lie NAT64, addresses that wrap IPv4, SRv6 and site-locals."""
NEVER = tuple(
    ip_network(net)
    for net in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "192.0.2.0/24",  # documentation, here and below
        "198.51.100.0/24",
        "203.0.113.0/24",
        "2001:db8::/32",
        "3fff::/20",
        "2002::/16",  # 6to4: an IPv4 address inside
    )
)
"""What ``is_global`` of one Python or another lets pass."""
EVEN_SO = tuple(ip_address(one) for one in ("192.0.0.9", "192.0.0.10"))
"""Of the protocol assignments, those that are global."""
PORTS = {443, 8443}
LOOK_UP_SECONDS = 15.0


def pinned(url: str, allowed: Sequence[Network], *, seconds: float = LOOK_UP_SECONDS) -> Where:
    """The one IP to connect to for a receiver's address, and the port.

    seconds: how long its name may take to be looked up. Raises: Refused with the reason.
    """
    parts = _parts(url)
    answers = looked_up(str(parts.hostname), _port(parts), seconds=seconds)
    refused = [one for one in answers if not permitted(one, allowed)]
    if refused:
        raise Refused(f"{parts.hostname} leads to {refused[0]}, which is not a public address")
    inside = all(_within(one, allowed) for one in answers)
    if parts.scheme != "https" and not inside:
        raise Refused(f"{url} is not https, and its network is not in PRETREAT_WEBHOOK_ALLOW")
    if not inside and _port(parts) not in PORTS:
        raise Refused(f"port {parts.port} is not one of {sorted(PORTS)}")
    return Where(address=answers[0], port=_port(parts))


def permitted(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether an address may be connected to: public, or inside an allowed network."""
    bare = getattr(address, "ipv4_mapped", None) or address
    if _within(bare, allowed):
        return True
    if isinstance(bare, IPv6Address) and bare not in GLOBAL_IPV6:
        return False
    if bare not in EVEN_SO and _within(bare, NEVER):
        return False
    return (bare.is_global or bare in EVEN_SO) and not bare.is_multicast


def _within(address: Address, allowed: Sequence[Network]) -> bool:
    return any(address.version == net.version and address in net for net in allowed)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Refused(f"{url!r} is not a web address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"{url!r} is not a web address")
    if parts.username or parts.password:
        raise Refused("a receiver's address may not hold a user name or a password")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def looked_up(name: str, port: int, *, seconds: float = LOOK_UP_SECONDS) -> list[Address]:
    """The addresses of a name. The system's look-up knows no deadline: a slow one is left alone.

    Raises: Refused.
    """
    answer: SimpleQueue[list[Any] | None] = SimpleQueue()
    Thread(target=_look_up, args=(name, port, answer), daemon=True).start()
    try:
        found = answer.get(timeout=seconds)
    except Empty:
        raise Refused(f"{name} was not found within {seconds:.0f} s") from None
    if not found:
        raise Refused(f"{name} has no address")
    return list(dict.fromkeys(ip_address(str(entry[4][0]).split("%")[0]) for entry in found))


def _look_up(name: str, port: int, answer: SimpleQueue[list[Any] | None]) -> None:
    try:
        answer.put(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        answer.put(None)
