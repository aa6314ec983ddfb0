"""How far questions to the field may go: networks and devices; whatever else is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import PurePosixPath

from compliance.errors import InputError
from compliance.model.endpoints import Endpoint, Transport

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SERIAL = re.compile(r"/dev/tty[A-Z.][A-Za-z0-9._-]*|/dev/serial/(?:by-id|by-path)/[^/]+")
_SETTING = "PRETREAT_FIELD_ALLOW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where questions may go: addresses in networks; serial devices, and all in some folders."""

    networks: tuple[Network, ...]
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> Reach:
        """From networks (CIDR) and folders of devices. Raises: ValueError for neither."""
        folders = tuple(one.rstrip("/") for one in names if one.startswith("/"))
        networks = tuple(ip_network(one) for one in names if not one.startswith("/"))
        return cls(networks=networks, folders=folders)

    def require(self, place: Endpoint, addresses: Sequence[Address] = ()) -> None:
        """Let a place pass, or not. addresses: all that its name leads to; for a device none.

        Raises: InputError.
        """
        if place.transport is Transport.SERIAL:
            self._require_device(place.host)
            return
        bare = [getattr(one, "ipv4_mapped", None) or one for one in addresses]
        refused = next((one for one in bare if not self._holds(one)), None)
        if refused is not None or not bare:
            leads = "has no address" if refused is None else f"leads to {refused}"
            raise InputError(
                f"{place.where} {leads}, which is in no network of {_SETTING} "
                f"({', '.join(map(str, self.networks)) or 'none'}); give an instrument's address, "
                "or have the network added there"
            )

    def _holds(self, address: Address) -> bool:
        return any(address.version == net.version and address in net for net in self.networks)

    def _require_device(self, path: str) -> None:
        if not (_SERIAL.fullmatch(path) or any(_is_in(path, one) for one in self.folders)):
            raise InputError(
                f"{path} is no serial device; expected /dev/ttyUSB0, /dev/serial/by-id/NAME or "
                f"the like, or a device in a folder that {_SETTING} names"
            )


def _is_in(path: str, folder: str) -> bool:
    """Whether a path lies under a folder, going no way back."""
    parts = PurePosixPath(path).parts
    above = PurePosixPath(folder).parts
    return ".." not in parts and parts[: len(above)] == above and len(parts) > len(above)
