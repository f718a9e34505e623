"""The other ends of a test's connections, in a loop and a thread of their own: their work is not the watched loop's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any

from hostile_switch import Talk, served

AGAIN_S = 0.5
"""Who comes and is cut off comes again after this. The machine is shared with those that are to be served."""


class OtherEnds:
    """Servers and clients, all gone when the block ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> OtherEnds:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def leave(self) -> None:
        """Has all of them gone now."""
        self._do(self._end())

    def serve(self, path: str, talk: Talk) -> None:
        """Listens at a unix socket from now on."""
        self._do(self._serve(path, talk))

    def come(self, port: int, talk: Talk) -> None:
        """Connects to us, again whenever it is cut off."""
        self._loop.call_soon_threadsafe(lambda: self._keep(_come(port, talk)))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it as a task, which nothing else would hold: a connection knows its reader weakly only."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, path: str, talk: Talk) -> None:
        serve = served(talk)
        self._servers.append(
            await asyncio.start_unix_server(lambda reader, writer: self._keep(serve(reader, writer)), path)
        )

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        others = set(self._tasks)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # A connection that was cut off is closed in the turn after.
        await asyncio.sleep(0)


async def _come(port: int, talk: Talk) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await talk(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(AGAIN_S)
