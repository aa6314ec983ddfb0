"""A gateway for tests of whole workers: it answers on a thread of its own, until it is stopped."""

from __future__ import annotations

import asyncio
import struct
import threading


class Meter:
    """A gateway whose unit 1 has 7.12 in holding register 0, on a loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        serving = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = self._loop.run_until_complete(serving)
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await reader.readexactly(12)
                words = struct.pack(">H", 712) * asked[11]
                writer.write(
                    asked[:4]
                    + struct.pack(">HBBB", 3 + len(words), asked[6], 3, len(words))
                    + words
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def stop(self) -> None:
        async def cancel() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._server.close()
        asyncio.run_coroutine_threadsafe(cancel(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
