"""A switch by hand, which does as a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from anabranch import AnabranchError
from anabranch.deploy.openflow.error import Disconnected
from anabranch.deploy.openflow.framing import Frames, Kind, Message, message
from anabranch.deploy.openflow.handshake import HELLO
from support.turn_clock import run_in_turns

TIMEOUT_S = 0.5
PATIENCE_S = 20
"""How long anything may take here before it counts as a hang. All times are counted in turns of the loop."""
MORE, LAST = 1, 0


def timeout_s(error: type[AnabranchError]) -> float:
    """Short only where it is what must end the call: it takes many turns until an answer is too long."""
    return TIMEOUT_S if error is Disconnected else PATIENCE_S / 2


FLOWS = 1


class Peer:
    """A switch by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._frames = Frames()
        self._messages: list[Message] = []

    async def next(self) -> Message:
        """Awaits a message."""
        while not self._messages:
            data = await self._reader.read(1 << 16)
            if not data:
                raise ConnectionError
            self._messages.extend(self._frames.feed(data))
        return self._messages.pop(0)

    async def send(self, kind: int, xid: int, body: bytes = b"") -> None:
        """Sends one."""
        self.writer.write(message(kind, xid, body))
        await self.writer.drain()

    async def introduce(self) -> None:
        """Part that a switch plays until `connect` returns."""
        await self.send(Kind.HELLO, 0, HELLO)
        while (one := await self.next()).kind != Kind.BARRIER_REQUEST:
            if one.kind == Kind.FEATURES_REQUEST:
                await self.send(Kind.FEATURES_REPLY, one.xid, struct.pack(">QIBB2xII", 7, 0, 254, 0, 0, 0))
        await self.send(Kind.BARRIER_REPLY, one.xid)

    async def end(self) -> None:
        """Reads until the other side goes."""
        while True:
            await self.next()


Behaviour = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def peer(behave: Behaviour) -> AsyncIterator[str]:
    """Address at which it listens; when it has done what it does it closes the connection."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await behave(Peer(reader, writer))
        writer.transport.abort()

    with TemporaryDirectory(prefix="peer") as folder:
        server = await asyncio.start_unix_server(serve_one, Path(folder) / "s")
        try:
            yield f"unix:{folder}/s"
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work(), PATIENCE_S)

    run_in_turns(bounded)


def answers(reply: Callable[[Message], bytes], *, endlessly: bool = False) -> Behaviour:
    """Answers every request that comes after the introduction."""

    async def behave(one: Peer) -> None:
        await one.introduce()
        while True:
            request = await one.next()
            one.writer.write(reply(request))
            while endlessly:
                one.writer.write(reply(request))
                await one.writer.drain()
                await asyncio.sleep(0)

    return behave


def part(request: Message, flags: int, body: bytes, what: int = FLOWS) -> bytes:
    return message(Kind.MULTIPART_REPLY, request.xid, struct.pack(">HH4x", what, flags) + body)
