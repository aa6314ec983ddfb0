"""Where a gateway answers and how it is spoken to: over TCP, a TCP tunnel or a serial line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl

from compliance.errors import InputError
from compliance.model.faults import brief
from compliance.model.wire import Protocol

BAUD = 19200
"""What a serial line runs at when nobody says another rate; so the Modbus specification."""
_CHARACTER_BITS = 11  # start, eight, parity or second stop, stop


class Transport(StrEnum):
    """What carries the frames to a gateway."""

    TCP = "tcp"
    RTU_OVER_TCP = "rtu+tcp"
    ASCII_OVER_TCP = "ascii+tcp"
    SERIAL = "serial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A place to ask, with the manners of its line.

    host: a name, an address or a serial device; port: 0 for a serial device. baud, bits, parity,
    stop: of a serial line, and what is behind a tunnel. pause_ms: to be kept between an answer and
    the next request, whichever unit it is for, and after connecting. timeout_ms: for an answer;
    None leaves it to who asks. spread: its slots lie beside the grid by a phase of its own.
    ignore_transaction_id: it answers with other transaction ids than it is asked with.
    """

    host: str
    port: int = 502
    transport: Transport = Transport.TCP
    protocol: Protocol = Protocol.TCP
    baud: int = BAUD
    bits: int = 8
    parity: str = "E"
    stop: int = 1
    pause_ms: int = 0
    timeout_ms: int | None = None
    spread: bool = False
    ignore_transaction_id: bool = False

    @property
    def where(self) -> str:
        """As a sentence names it."""
        return self.host if self.transport is Transport.SERIAL else f"{self.host}:{self.port}"

    @property
    def tagged(self) -> bool:
        """Whether its answers say which request they belong to."""
        return self.protocol is Protocol.TCP

    def seconds_for(self, characters: int) -> float:
        """How long so many bytes of a frame are under way on its line; none on plain TCP."""
        if self.protocol is Protocol.TCP:
            return 0.0
        double = 2 if self.protocol is Protocol.ASCII else 1
        return characters * double * _CHARACTER_BITS / self.baud


_PROTOCOL = {
    Transport.TCP: Protocol.TCP,
    Transport.RTU_OVER_TCP: Protocol.RTU,
    Transport.ASCII_OVER_TCP: Protocol.ASCII,
    Transport.SERIAL: Protocol.RTU,
}
_WORDS = {"yes": True, "no": False}
_LINE_KEYS = ("mode", "baud", "bits", "parity", "stop")
_KEYS = ("pause", "timeout", "spread", "ignore_transaction_id")
_EXPECTED = (
    "expected HOST[:PORT], tcp://HOST:PORT, rtu+tcp://HOST:PORT, ascii+tcp://HOST:PORT "
    "or serial:/dev/ttyUSB0?baud=9600&parity=E"
)


def endpoint(host: str, port: int, transport: str = "tcp") -> Endpoint:
    """An endpoint from what is on file for a gateway.

    transport: its kind, with options behind a question mark, such as ``rtu+tcp?pause=100`` or
    ``serial?mode=ascii&baud=1200``. Options: pause and timeout in ms, spread and
    ignore_transaction_id (yes or no); baud, bits, parity, stop of the line; mode (rtu or ascii) of
    a serial device.
    Raises: InputError in one sentence for what cannot be meant.
    """
    kind, _, query = transport.partition("?")
    known = {member.value: member for member in Transport}
    if kind not in known:
        raise InputError(
            f"transport of {host} is {transport!r}; expected one of {', '.join(known)}, "
            "with options such as serial?baud=9600&parity=E"
        )
    found = known[kind]
    is_serial = found is Transport.SERIAL
    if is_serial != (port == 0) or not 0 <= port <= 65535:
        expected = "0 for a serial device" if is_serial else "from 1 to 65535"
        raise InputError(f"port of {host} over {kind} is {port}; expected {expected}")
    if is_serial and not host.startswith("/"):
        raise InputError(f"serial device is {host!r}; expected a path such as /dev/ttyUSB0")
    return _with_options(host, port, found, _options(query, found, transport))


def parse(address: str) -> Endpoint:
    """An endpoint from an address as a person types it.

    Raises: InputError in one sentence for what is no address.
    """
    if address.startswith("serial:"):
        device, _, query = address.removeprefix("serial:").partition("?")
        return endpoint(device, 0, f"serial?{query}")
    place, _, query = address.partition("?")
    found = re.fullmatch(r"(?:([a-z+]+)://)?(\[[^\]]+\]|[^:/\s]+)(?::(\d{1,5}))?", place)
    kinds = (None, "tcp", "rtu+tcp", "ascii+tcp")
    if found is None or found[1] not in kinds or not _is_name(found[2].strip("[]")):
        raise InputError(f"{brief(address)!r} is no address of a gateway; {_EXPECTED}")
    port = int(found[3] or 502)
    if not 0 < port < 65536:
        raise InputError(f"{brief(address)!r} has port {port}; {_EXPECTED}")
    return endpoint(found[2].strip("[]"), port, f"{found[1] or 'tcp'}?{query}")


def _is_name(host: str) -> bool:
    """Whether a resolver can be asked for a host; it throws at empty and overlong labels."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False


def _options(query: str, kind: Transport, text: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    allowed = (*_KEYS, *(() if kind is Transport.TCP else _LINE_KEYS))
    unknown = next((key for key in options if key not in allowed), None)
    if unknown is not None or len(options) < len(pairs) or (query and not pairs):
        what = f"has {unknown!r}" if unknown else "has an option twice or none that can be read"
        raise InputError(f"transport {text!r} {what}; expected options of {', '.join(allowed)}")
    return options


def _with_options(host: str, port: int, kind: Transport, options: Mapping[str, str]) -> Endpoint:
    protocol = _PROTOCOL[kind]
    if "mode" in options:
        protocol = Protocol(_one_of(host, options, "mode", ("rtu", "ascii"), protocol.value))
    is_ascii = protocol is Protocol.ASCII
    parity = _one_of(host, options, "parity", ("E", "O", "N"), "E")
    bits = int(_one_of(host, options, "bits", ("7", "8"), "7" if is_ascii else "8"))
    if bits == 7 and protocol is Protocol.RTU:
        raise InputError(f"bits of {host} is 7; expected 8, since RTU frames need all of them")
    return Endpoint(
        host=host,
        port=port,
        transport=kind,
        protocol=protocol,
        baud=_number(host, options, "baud", (300, 1_000_000)) or BAUD,
        bits=bits,
        parity=parity,
        stop=int(_one_of(host, options, "stop", ("1", "2"), "2" if parity == "N" else "1")),
        pause_ms=_number(host, options, "pause", (0, 600_000)) or 0,
        timeout_ms=_number(host, options, "timeout", (1, 600_000)),
        spread=_flag(host, options, "spread"),
        ignore_transaction_id=_flag(host, options, "ignore_transaction_id"),
    )


def _one_of(
    host: str, options: Mapping[str, str], key: str, allowed: tuple[str, ...], default: str
) -> str:
    said = options.get(key, default)
    if said not in allowed:
        raise InputError(f"{key} of {host} is {said!r}; expected {' or '.join(allowed)}")
    return said


def _number(host: str, options: Mapping[str, str], key: str, bounds: tuple[int, int]) -> int | None:
    said = options.get(key)
    if said is None:
        return None
    low, high = bounds
    if not re.fullmatch(r"[0-9]{1,9}", said) or not low <= int(said) <= high:
        raise InputError(f"{key} of {host} is {said!r}; expected a number from {low} to {high}")
    return int(said)


def _flag(host: str, options: Mapping[str, str], key: str) -> bool:
    return _WORDS[_one_of(host, options, key, tuple(_WORDS), "no")]
