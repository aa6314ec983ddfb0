"""Control manholes that answer Modbus TCP, for demos and tests: our own small server.

pymodbus' server answers an unknown unit with exception 4 and a traceback, and serves one request a
segment; ours says 0x0B, keeps silent where the scenario says so, and takes requests as they come.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime

from compliance.model.periods import to_us
from compliance.model.register_map import Table
from ingest.errors import IngestError
from ingest.instrument import Instrument
from ingest.scenario import Manhole, Scenario

Clock = Callable[[], datetime]

_TABLES = {table.function: table for table in Table}
_MOST = {Table.HOLDING: 125, Table.INPUT: 125, Table.COIL: 2000, Table.DISCRETE: 2000}
_WRITES = {5: Table.COIL, 6: Table.HOLDING}
_ON = 0xFF00
_HEADER = struct.Struct(">HHHB")
_QUESTION = struct.Struct(">BHH")
_ILLEGAL_FUNCTION, _ILLEGAL_ADDRESS, _ILLEGAL_VALUE, _NO_SUCH_UNIT = 1, 2, 3, 0x0B


async def serve(
    scenario: Scenario,
    *,
    started_at: datetime,
    clock: Clock,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Answer on every gateway of a scenario until cancelled.

    started_at: when the scenario's live events count from; clock: what time it is now, asked at
    each request; ready: called once all ports answer.
    Raises: IngestError for a port in use, before anything is served.
    """
    with ExitStack() as stack:
        for manhole in scenario.started(started_at):
            server = await _open(manhole, clock)
            stack.callback(server.close)  # not wait_closed: clients may stay connected for ever
        ready()
        await asyncio.get_running_loop().create_future()


async def _open(manhole: Manhole, clock: Clock) -> asyncio.Server:
    instruments = {unit.unit: Instrument(manhole, unit) for unit in manhole.units}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while await _exchange(reader, writer, instruments, clock):
                pass
        writer.close()

    try:
        return await asyncio.start_server(talk, manhole.host, manhole.port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise IngestError(
            f"gateway {manhole.gateway} cannot listen on {manhole.host}:{manhole.port} ({why}); "
            "stop what uses the port or give --port-base another one"
        ) from None


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    instruments: Mapping[int, Instrument],
    clock: Clock,
) -> bool:
    """One request and its answer; False for bytes that are no Modbus TCP."""
    header = await reader.readexactly(_HEADER.size)
    transaction, protocol, length, unit = _HEADER.unpack(header)
    if protocol != 0 or not 2 <= length <= 254:
        return False
    question = await reader.readexactly(length - 1)
    reply = answer(instruments, unit, question, at_us=to_us(clock()))
    if reply is not None:
        writer.write(_HEADER.pack(transaction, 0, len(reply) + 1, unit) + reply)
        await writer.drain()
    return True


def answer(
    instruments: Mapping[int, Instrument], unit: int, question: bytes, *, at_us: int
) -> bytes | None:
    """The answer to a request, without its header; None where the unit keeps silent."""
    function = question[0]
    instrument = instruments.get(unit)
    if instrument is None:
        return _refusal(function, _NO_SUCH_UNIT)
    if not instrument.answers(at_us):
        return None
    if function in _WRITES and len(question) == _QUESTION.size:
        return _ordered(instrument, question)
    table = _TABLES.get(function)
    if table is None:
        return _refusal(function, _ILLEGAL_FUNCTION)
    if len(question) != _QUESTION.size:
        return _refusal(function, _ILLEGAL_VALUE)
    _, address, count = _QUESTION.unpack(question)
    if not 1 <= count <= _MOST[table]:
        return _refusal(function, _ILLEGAL_VALUE)
    words = instrument.read(table, address, count, at_us=at_us)
    if words is None:
        return _refusal(function, _ILLEGAL_ADDRESS)
    content = _packed(table, words)
    return bytes((function, len(content))) + content


def _ordered(instrument: Instrument, question: bytes) -> bytes:
    """An order taken is answered by its own words."""
    function, address, value = _QUESTION.unpack(question)
    table = _WRITES[function]
    plain = int(value == _ON) if table is Table.COIL else value
    taken = instrument.write(table, address, plain)
    return question if taken else _refusal(function, _ILLEGAL_FUNCTION)


def _refusal(function: int, code: int) -> bytes:
    return bytes((function | 0x80, code))


def _packed(table: Table, words: tuple[int, ...]) -> bytes:
    if table in (Table.HOLDING, Table.INPUT):
        return struct.pack(f">{len(words)}H", *words)
    bits = sum((word & 1) << index for index, word in enumerate(words))
    return bits.to_bytes((len(words) + 7) // 8, "little")
