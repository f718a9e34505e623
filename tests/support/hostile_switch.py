"""Switches that break OpenFlow in every way that came to mind. The bytes are made here, not by the codec under test."""

from __future__ import annotations

import asyncio
import random
import struct
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

HEADER = struct.Struct(">BBHI")
OF10, OF15 = 0x01, 0x06
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
PORT_STATUS, MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 12, 18, 19, 20, 21
BUNDLE_CONTROL, BUNDLE_ADD = 33, 34
HELLO_BODY = struct.pack(">HHI", 1, 8, 1 << OF15)
PORTS = 13

Talk = Callable[[Reader, Writer], Awaitable[None]]


def message(kind: int, xid: int = 0, body: bytes = b"", version: int = OF15) -> bytes:
    """One message."""
    return HEADER.pack(version, kind, HEADER.size + len(body), xid) + body


def port(number: int, name: str) -> bytes:
    """The description of a port whose link is up."""
    return struct.pack(">IH2x6s2x16sII", number, 40, b"\x02\0\0\0\0\7", name.encode(), 0, 4)


class FairSwitch:
    """Answers as OpenFlow has it, and holds nothing; those below differ in something."""

    datapath_id = 0
    ports: tuple[str, ...] = ()
    """Names, numbered from 1."""

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        """Talks until the other end has enough."""
        writer.write(message(HELLO, 1, HELLO_BODY))
        while True:
            _, kind, length, xid = HEADER.unpack(await reader.readexactly(HEADER.size))
            for reply in self.replies(kind, xid, await reader.readexactly(length - HEADER.size)):
                writer.write(reply)
            await writer.drain()

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:
        """Answers to a message."""
        if kind == FEATURES_REQUEST:
            return [message(FEATURES_REPLY, xid, struct.pack(">QIBB2xII", self.datapath_id, 0, 254, 0, 0, 0))]
        if kind == ECHO_REQUEST:
            return [message(ECHO_REPLY, xid, body)]
        if kind == BARRIER_REQUEST:
            return [message(BARRIER_REPLY, xid)]
        if kind == MULTIPART_REQUEST:
            ports = b"".join(port(number, name) for number, name in enumerate(self.ports, 1))
            return [message(MULTIPART_REPLY, xid, body[:2] + b"\0" * 6 + (ports if body[1] == PORTS else b""))]
        if kind == BUNDLE_CONTROL:
            bundle, control, flags = struct.unpack(">IHH", body[:8])
            return [message(BUNDLE_CONTROL, xid, struct.pack(">IHH", bundle, control + 1, flags))]
        return []


class OtherXids(FairSwitch):
    """Answers some other request."""

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:
        """With a number that nobody asked by."""
        return super().replies(kind, xid ^ 0x5A5A, body)


class Endless(FairSwitch):
    """Its answers have always one more part."""

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        """Until it is cut off."""
        self._writer = writer
        await super().__call__(reader, writer)

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:
        """Part after part."""
        if kind == MULTIPART_REQUEST:
            part = message(MULTIPART_REPLY, xid, body[:2] + b"\0\1\0\0\0\0" + bytes(60_000))
            return [part] * 2000
        return super().replies(kind, xid, body)


class EmptyParts(FairSwitch):
    """Its answers go on for ever, and say nothing."""

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        """Sends the parts one by one."""
        writer.write(message(HELLO, 1, HELLO_BODY))
        while True:
            _, kind, length, xid = HEADER.unpack(await reader.readexactly(HEADER.size))
            body = await reader.readexactly(length - HEADER.size)
            while kind == MULTIPART_REQUEST:
                writer.write(message(MULTIPART_REPLY, xid, body[:2] + b"\0\1\0\0\0\0") * 100)
                await writer.drain()
                await asyncio.sleep(0.01)
            for reply in self.replies(kind, xid, body):
                writer.write(reply)


class Scrambled(FairSwitch):
    """Its long answers are noise, of the right type."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:
        """Noise."""
        if kind == MULTIPART_REQUEST:
            noise = self._random.randbytes(self._random.randrange(2000))
            return [message(MULTIPART_REPLY, xid, body[:2] + b"\0" * 6 + noise)]
        return super().replies(kind, xid, body)


class Refusing(FairSwitch):
    """Is empty, and takes nothing."""

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:
        """An error for whatever would change it."""
        if kind in (BUNDLE_CONTROL, BUNDLE_ADD):
            return [message(ERROR, xid, struct.pack(">HH", 17, 0) + body[:64])]
        return super().replies(kind, xid, body)


class Forgetful(FairSwitch):
    """Takes all and keeps nothing."""


class Mute(FairSwitch):
    """Says hello, and no more."""

    def replies(self, kind: int, xid: int, body: bytes) -> list[bytes]:  # noqa: ARG002 (as its base)
        """Nothing."""
        return []


class TooMuch(FairSwitch):
    """Answers fairly, and says something without end besides."""

    def __init__(self, said: bytes) -> None:
        self._said = said * max(1, 60_000 // len(said))

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        """Both."""
        fair = asyncio.ensure_future(super().__call__(reader, writer))
        try:
            await asyncio.sleep(0.2)
            while not fair.done():
                writer.write(self._said)
                await writer.drain()
                # The machine is shared with the switches that are to be served.
                await asyncio.sleep(0.005)
        finally:
            fair.cancel()
            with suppress(asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
                await fair


async def silent(reader: Reader, _: Writer) -> None:
    """Takes the connection, and no more."""
    while await reader.read(65536):
        pass


async def leaving(_: Reader, __: Writer) -> None:
    """Hangs up."""


def said(text: bytes, *, for_ever: bool = False) -> Talk:
    """Says something, once or for ever, whatever it is asked."""

    async def say(reader: Reader, writer: Writer) -> None:
        writer.write(text)
        while for_ever:
            await writer.drain()
            await asyncio.sleep(0.005)
            writer.write(text)
        await silent(reader, writer)

    return say


async def noise(_: Reader, writer: Writer) -> None:
    """Sends random bytes."""
    source = random.Random(1)
    while True:
        writer.write(source.randbytes(4096))
        await writer.drain()
        await asyncio.sleep(0.001)


async def half(reader: Reader, writer: Writer) -> None:
    """Announces a long message and stops within it."""
    writer.write(HEADER.pack(OF15, HELLO, 0xFFFF, 1) + bytes(10))
    await silent(reader, writer)


async def impossible_length(reader: Reader, writer: Writer) -> None:
    """Sends a message that is shorter than its header."""
    writer.write(HEADER.pack(OF15, HELLO, 3, 1))
    await silent(reader, writer)


async def old_version(reader: Reader, writer: Writer) -> None:
    """Speaks OpenFlow 1.0."""
    writer.write(message(HELLO, 1, version=OF10))
    await silent(reader, writer)


async def dripping(_: Reader, writer: Writer) -> None:
    """Sends a hello letter by letter."""
    while True:
        for letter in message(HELLO, 1, HELLO_BODY + bytes(60_000)):
            writer.write(bytes([letter]))
            await writer.drain()
            await asyncio.sleep(0.02)


async def unasked(reader: Reader, writer: Writer) -> None:
    """Answers what it was not asked."""
    writer.write(message(HELLO, 1, HELLO_BODY))
    for kind in (FEATURES_REPLY, MULTIPART_REPLY, BARRIER_REPLY, ERROR, 200):
        writer.write(message(kind, 99, bytes(24)))
    await silent(reader, writer)


HOSTILE: dict[str, Talk] = {
    "silent": silent,
    "leaving": leaving,
    "noise": noise,
    "half": half,
    "impossible length": impossible_length,
    "old version": old_version,
    "dripping": dripping,
    "unasked": unasked,
    "mute": Mute(),
    "other xids": OtherXids(),
    "endless": Endless(),
    "empty parts": EmptyParts(),
    "scrambled": Scrambled(),
    "refusing": Refusing(),
    "forgetful": Forgetful(),
    "echoes": TooMuch(message(ECHO_REQUEST, 5, b"x" * 16)),
    "port changes": TooMuch(message(PORT_STATUS, 0, bytes([2]) + bytes(7) + port(7, "nowhere"))),
    "torn port changes": TooMuch(message(PORT_STATUS, 0, b"\2")),
    "errors": TooMuch(message(ERROR, 77, struct.pack(">HH", 1, 1))),
}
"""Every sort by name."""


def served(talk: Talk) -> Callable[[Reader, Writer], Coroutine[Any, Any, None]]:
    """Handler for `asyncio.start_server`: ends as the other end does."""

    async def serve(reader: Reader, writer: Writer) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await talk(reader, writer)
        finally:
            # What was not taken yet is not waited for.
            writer.transport.abort()

    return serve
