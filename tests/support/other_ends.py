"""The other ends of a test's connections, in a loop and a thread of their own: their work is not the watched loop's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any

from support.hostile_switch import Talk, served

AGAIN_S = 0.5
"""Pause before an end that was cut off comes again. The machine is shared with those that are to be served."""


class OtherEnds:
    """Servers and clients, all gone when the block ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()
        self._served: set[asyncio.Task[None]] = set()

    def __enter__(self) -> OtherEnds:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def leave(self) -> None:
        """Has the clients gone, for good."""
        self._do(_cancelled(self._clients))

    def serve(self, path: str, talk: Talk) -> None:
        """Listens at a unix socket from now on."""
        self._do(self._serve(path, talk))

    def come(self, port: int, talk: Talk) -> None:
        """Connects to us, again whenever it is cut off."""
        self._loop.call_soon_threadsafe(lambda: self._keep(_come(port, talk), self._clients))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _keep(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        """Runs it as a task, which nothing else would hold: a connection knows its reader weakly only."""
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _serve(self, path: str, talk: Talk) -> None:
        attend = served(talk)

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._keep(attend(reader, writer), self._served)

        self._servers.append(await asyncio.start_unix_server(met, path))

    async def _end(self) -> None:
        await _cancelled(self._clients)
        # asyncio forgets to close a connection that comes while its server closes (`Server._attach`): nobody comes now.
        await turns()
        for server in self._servers:
            server.close()
        await _cancelled(self._served)


async def turns() -> None:
    """Has the loop do what it has begun: a connection is taken, or closed, in a few."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _cancelled(tasks: set[asyncio.Task[None]]) -> None:
    pending = set(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    await turns()


async def _come(port: int, talk: Talk) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await talk(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(AGAIN_S)
