"""Where a gateway answers and how it is spoken to, as people write it."""

from __future__ import annotations

import pytest

from compliance.errors import InputError
from compliance.model.endpoints import Endpoint, Transport, endpoint, parse
from compliance.model.wire import Protocol

ADDRESSES = {
    "192.0.2.10": Endpoint(host="192.0.2.10"),
    "192.0.2.10:15021": Endpoint(host="192.0.2.10", port=15021),
    "tcp://plant.example:1502": Endpoint(host="plant.example", port=1502),
    "[::1]:502": Endpoint(host="::1"),
    "rtu+tcp://host:4001?pause=100": Endpoint(
        host="host",
        port=4001,
        transport=Transport.RTU_OVER_TCP,
        protocol=Protocol.RTU,
        pause_ms=100,
    ),
    "serial:/dev/ttyUSB0?baud=9600&parity=N": Endpoint(
        host="/dev/ttyUSB0",
        port=0,
        transport=Transport.SERIAL,
        protocol=Protocol.RTU,
        baud=9600,
        parity="N",
        stop=2,
    ),
    "serial:/dev/ttyS1?mode=ascii&baud=1200": Endpoint(
        host="/dev/ttyS1",
        port=0,
        transport=Transport.SERIAL,
        protocol=Protocol.ASCII,
        baud=1200,
        bits=7,
    ),
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_says_how_a_gateway_is_spoken_to(address: str) -> None:
    assert parse(address) == ADDRESSES[address]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("", "is no address"),
        ("host:x", "is no address"),
        ("host:70000", "port 70000"),
        ("udp://host", "is no address"),
        ("serial:ttyUSB0", "expected a path"),
        ("serial:/dev/ttyUSB0?baud=fast", "baud of /dev/ttyUSB0 is 'fast'"),
        ("serial:/dev/ttyUSB0?bits=7", "expected 8"),
        ("host:502?baud=9600", "has 'baud'"),
        ("host:502?pause=1&pause=2", "twice"),
    ],
)
def test_what_is_no_address_is_refused_in_one_sentence(address: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        parse(address)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "port", "transport"),
    [("/dev/ttyUSB0", 502, "serial"), ("host", 0, "tcp"), ("host", 502, "udp")],
)
def test_a_gateway_on_file_that_cannot_be_meant_is_refused(
    host: str, port: int, transport: str
) -> None:
    with pytest.raises(InputError, match="expected"):
        endpoint(host, port, transport)
