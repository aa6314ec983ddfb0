"""The one place that writes to an instrument: a coil or a register that lets a sampler run.

It shares nothing with the link that polls, which has no way to write, and nothing but the command
`pretreat sampler` may import it (``pyproject.toml``). One request, one answer, one connection.
"""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from dataclasses import dataclass

from compliance.errors import InputError
from compliance.model.register_map import Entry, RegisterMap, Table
from ingest.errors import BadReply, NoAnswer, NotConnected, Refused

WRITE_COIL, WRITE_REGISTER = 5, 6
ON, OFF = 0xFF00, 0x0000
"""What Modbus writes into a coil for 1 and 0."""
SECONDS = 5.0

_HEADER = struct.Struct(">HHHB")
_ORDER = struct.Struct(">BHH")
_TRANSACTION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is written where: one value into one coil or one holding register."""

    entry: str
    table: Table
    address: int
    value: int

    def __str__(self) -> str:
        return f"{self.table.value} {self.address} ({self.entry}) = {self.value}"


def order(of: RegisterMap, *, enable: bool) -> Order:
    """What a map says is to be written so that a sampler runs, or does not.

    Raises: InputError where the map marks no entry for it, several, or no such value.
    """
    marked = [entry for entry in of.entries.values() if entry.is_enabling]
    if len(marked) != 1:
        found = ", ".join(entry.name for entry in marked) or "none"
        raise InputError(
            f"register map {of.name} marks {found} with enables; expected exactly one entry of "
            "kind: command with the value to write: complete the map"
        )
    (entry,) = marked
    return Order(
        entry=entry.name,
        table=entry.table,
        address=entry.address,
        value=_value(of, entry, enable=enable),
    )


def _value(of: RegisterMap, entry: Entry, *, enable: bool) -> int:
    value, key = (entry.enables, "enables") if enable else (entry.disables, "disables")
    if value is None:
        raise InputError(
            f"register map {of.name}, entry {entry.name} says no value that {key}; expected "
            f"{key}: with the number its manual gives"
        )
    return value


def write(host: str, port: int, unit: int, order: Order, *, timeout: float = SECONDS) -> str:
    """Write once over Modbus TCP; what was answered, as bytes in hexadecimal.

    timeout: seconds, for connecting and for the answer; nothing is tried twice.
    Raises: NotConnected, NoAnswer, Refused, BadReply. After NoAnswer, a lost connection or a
    BadReply nobody knows whether it was carried out.
    """
    where = f"{host}:{port} unit {unit}"
    asked = _question(order)
    try:
        connection = socket.create_connection((host, port), timeout=timeout)
    except OSError as error:
        why = error.strerror or str(error)
        raise NotConnected(f"{where} cannot be reached ({why}); nothing was written") from None
    with closing(connection):
        try:
            connection.sendall(_HEADER.pack(_TRANSACTION, 0, len(asked) + 1, unit) + asked)
            head, answer = _answer(connection)
        except TimeoutError:
            raise NoAnswer(
                f"{where} did not answer within {timeout:g} s; look at the sampler whether it runs"
            ) from None
        except OSError as error:
            why = error.strerror or str(error)
            raise NotConnected(
                f"{where} was lost before its answer ({why}); look at the sampler whether it runs"
            ) from None
    _check(where, unit, asked, head, answer)
    return answer.hex(" ")


def _question(order: Order) -> bytes:
    if order.table is Table.COIL:
        return _ORDER.pack(WRITE_COIL, order.address, ON if order.value else OFF)
    return _ORDER.pack(WRITE_REGISTER, order.address, order.value)


def _answer(connection: socket.socket) -> tuple[tuple[int, ...], bytes]:
    head = _HEADER.unpack(_exactly(connection, _HEADER.size))
    return head, _exactly(connection, min(max(0, head[2] - 1), 254))


def _exactly(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        part = connection.recv(count - len(got))
        if not part:
            raise ConnectionResetError("the other end closed the connection")
        got += part
    return got


def _check(where: str, unit: int, asked: bytes, head: tuple[int, ...], answer: bytes) -> None:
    """An order carried out is answered by its very words."""
    transaction, protocol, _, answering = head
    if (transaction, protocol, answering) == (_TRANSACTION, 0, unit):
        if answer == asked:
            return
        if len(answer) == 2 and answer[0] == asked[0] | 0x80:
            raise Refused(where, answer[1])
    raise BadReply(
        f"{where} answered {answer.hex(' ') or 'nothing'}, which is no answer to this order; look "
        "at the sampler whether it runs"
    )
