"""Where a webhook may go: an address is resolved once, every answer is checked, then dialled."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from compliance.errors import Refused
from compliance.settings import Network

Address = IPv4Address | IPv6Address
WRAPPING = tuple(IPv6Network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"))
"""NAT64 and 6to4: an IPv4 address inside that ``is_global`` does not look at."""
PORTS = {443, 8443}


def pinned(url: str, allowed: Sequence[Network]) -> tuple[SplitResult, Address]:
    """The parts of a receiver's address and the one IP to connect to.

    Raises: Refused with the reason.
    """
    parts = _parts(url)
    answers = _resolve(parts)
    refused = [one for one in answers if not permitted(one, allowed)]
    if refused:
        raise Refused(f"{parts.hostname} leads to {refused[0]}, which is not a public address")
    inside = all(_within(one, allowed) for one in answers)
    if parts.scheme != "https" and not inside:
        raise Refused(f"{url} is not https, and its network is not in PRETREAT_WEBHOOK_ALLOW")
    if not inside and (parts.port or 443) not in PORTS:
        raise Refused(f"port {parts.port} is not one of {sorted(PORTS)}")
    return parts, answers[0]


def permitted(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether an address may be connected to: public, or inside an allowed network."""
    bare = getattr(address, "ipv4_mapped", None) or address
    if _within(bare, allowed):
        return True
    if isinstance(bare, IPv6Address) and any(bare in net for net in WRAPPING):
        return False
    return bare.is_global and not bare.is_multicast


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


def _resolve(parts: SplitResult) -> list[Address]:
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Refused(f"{parts.hostname} has no address") from None
    return list(dict.fromkeys(ip_address(str(entry[4][0]).split("%")[0]) for entry in found))
