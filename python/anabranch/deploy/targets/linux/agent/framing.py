"""Messages between controller and agent: four bytes of length, big-endian, then one JSON object in UTF-8."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Any

from anabranch.deploy.targets.linux.session.routing_kernel import UnreachableError

VERSION = 1
"""Version of the protocol: both ends have the same."""
PORT = 6655
LENGTH = struct.Struct("!I")
MESSAGE_BYTES_MAX = 16 << 20
HELLO_BYTES_MAX = 1 << 20
"""Size of the first message, before the two know each other."""
CHUNK_BYTES = 1 << 16

Message = Mapping[str, Any]


class MessageError(UnreachableError):
    """The other end sent what is no message of this protocol; the connection is closed."""


class ClosedError(UnreachableError):
    """The other end closed the connection."""


def encode(message: Message) -> bytes:
    """The bytes of a message.

    Raises:
        MessageError: the message is too long.

    """
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > MESSAGE_BYTES_MAX:
        raise MessageError(f"a message of {len(body)} bytes: longer than {MESSAGE_BYTES_MAX}; the plan is too large")
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """The message in a body.

    Raises:
        MessageError: it is no JSON object.

    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"no JSON ({str(error)[:100]})") from None
    if not isinstance(message, dict):
        raise MessageError("no JSON object")
    return message


class MessageStream(asyncio.StreamReaderProtocol):
    """One connection as a sequence of messages, at either end."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        """Address of the other end, for people."""
        self._incoming = asyncio.StreamReader(limit=CHUNK_BYTES)
        self._outgoing: asyncio.StreamWriter | None = None
        super().__init__(self._incoming, self._begin)

    def _begin(self, _: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        self._outgoing = outgoing

    async def receive(self, bytes_max: int = MESSAGE_BYTES_MAX) -> Message:
        """Awaits the next message.

        Raises:
            MessageError: what came is none.
            ClosedError: the connection has ended.
            OSError: it has ended by an error, as one of TLS.

        """
        try:
            (length,) = LENGTH.unpack(await self._incoming.readexactly(LENGTH.size))
            if length > bytes_max:
                raise MessageError(f"a message of {length} bytes: longer than {bytes_max}")
            return decode(await self._incoming.readexactly(length))
        except asyncio.IncompleteReadError as error:
            middle = " in the middle of a message" if error.partial or error.expected != LENGTH.size else ""
            raise ClosedError(f"the other end closed the connection{middle}") from None

    def post(self, message: Message) -> None:
        """Sends a message, after those that were sent before."""
        if self._outgoing is not None and not self._outgoing.is_closing():
            self._outgoing.write(encode(message))

    async def sent(self) -> None:
        """Waits until the other end has taken most of what was sent.

        Raises:
            OSError: the connection has ended.

        """
        if self._outgoing is not None:
            await self._outgoing.drain()

    def close(self) -> None:
        """Ends the connection once what was sent is on its way."""
        if self._outgoing is not None:
            self._outgoing.close()

    def abort(self) -> None:
        """Ends the connection at once."""
        if self._outgoing is not None:
            self._outgoing.transport.abort()
