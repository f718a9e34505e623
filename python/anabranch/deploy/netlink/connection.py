"""A netlink socket: requests, dumps, and the kernel's own words when it refuses (RFC 3549; `netlink(7)`)."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

from anabranch.files.errors import AnabranchError

HEADER = struct.Struct("=IHHII")
"""Header of a message: length, type, flags, sequence number, port."""
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, MULTI, ACK, DUMP_INTERRUPTED = 0x1, 0x2, 0x4, 0x10
DUMP = 0x300
REPLACE, EXCLUSIVE, CREATE = 0x100, 0x200, 0x400
CAPPED, HAS_WORDS = 0x100, 0x200
SOL_NETLINK, EXTENDED_ACK, STRICT = 270, 11, 12
MESSAGE_ATTRIBUTE = 1
RECEIVE_BYTES = 1 << 20
TIMEOUT_S = 10
DUMP_ATTEMPTS = 5


class KernelRefusedError(AnabranchError):
    """The kernel's answer to a request; `code` is its errno."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"kernel: {words or os.strerror(code)} ({errno.errorcode.get(code, code)})")
        self.code = code


class Connection:
    """Connection to the kernel's routing tables, in the network namespace of the thread that makes it."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, 0))
        self.socket.settimeout(TIMEOUT_S)
        self.socket.setsockopt(SOL_NETLINK, EXTENDED_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, STRICT, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * RECEIVE_BYTES)
        self._sequence = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the socket."""
        self.socket.close()

    def receive(self) -> bytes:
        """Receives the next datagram.

        Raises:
            AnabranchError: the kernel is silent.

        """
        try:
            return self.socket.recv(RECEIVE_BYTES)
        except TimeoutError:
            raise AnabranchError(f"kernel: no answer within {TIMEOUT_S} s; try again") from None

    def request(self, message: Any, kind: int, flags: int = 0) -> None:
        """Asks the kernel to do one thing.

        Raises:
            KernelRefusedError: the kernel refuses.

        """
        for _ in self._exchange(message, kind, REQUEST | ACK | flags):
            pass

    def dump(self, message: Any, kind: int) -> list[Any]:
        """Lists everything of a kind, as messages of the class of `message`; raises as `dump_bytes`."""
        listed = []
        for data in self.dump_bytes(message, kind):
            one = type(message)(data)
            one.decode()
            listed.append(one)
        return listed

    def dump_bytes(self, message: Any, kind: int) -> list[bytes]:
        """Lists everything of a kind, as messages with their headers.

        Raises:
            KernelRefusedError: the kernel knows no such thing.
            AnabranchError: it changes faster than it can be read.

        """
        for _ in range(DUMP_ATTEMPTS):
            answers = list(self._exchange(message, kind, REQUEST | DUMP))
            if not any(flags & DUMP_INTERRUPTED for flags, _ in answers):
                return [data for _, data in answers]
        raise AnabranchError("kernel: its tables change while they are read; try again when they are quiet")

    def _exchange(self, message: Any, kind: int, flags: int) -> Iterator[tuple[int, bytes]]:
        self._sequence += 1
        header = message["header"]
        header["type"], header["flags"], header["sequence_number"], header["pid"] = kind, flags, self._sequence, 0
        message.encode()
        self.socket.send(message.data)
        while True:
            for length, type_, answer_flags, sequence, data in messages(self.receive()):
                if sequence != self._sequence:
                    continue
                if type_ == NLMSG_ERROR:
                    raise_error(data, answer_flags)
                    return
                if type_ == NLMSG_DONE:
                    if length > HEADER.size and (code := struct.unpack_from("=i", data, HEADER.size)[0]):
                        raise KernelRefusedError(-code, "")
                    return
                yield answer_flags, data


def messages(received: bytes) -> Iterator[tuple[int, int, int, int, bytes]]:
    """Splits a datagram into messages: (length, type, flags, sequence number, the whole message) of each."""
    offset = 0
    while offset + HEADER.size <= len(received):
        length, type_, flags, sequence, _ = HEADER.unpack_from(received, offset)
        if length < HEADER.size:
            return
        yield length, type_, flags, sequence, received[offset : offset + length]
        offset += (length + 3) & ~3


def attributes(data: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Splits attributes from `offset` on: (type, value) of each."""
    while offset + 4 <= len(data):
        length, type_ = struct.unpack_from("=HH", data, offset)
        if length < 4:
            return
        yield type_ & 0x3FFF, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3


def raise_error(data: bytes, flags: int) -> None:
    """Raises the refusal that an error message reports; returns if it reports success.

    Raises:
        KernelRefusedError: the kernel did not do it.

    """
    (code,) = struct.unpack_from("=i", data, HEADER.size)
    if code == 0:
        return
    inner = HEADER.size + 4
    (echoed,) = struct.unpack_from("=I", data, inner)
    after = inner + (HEADER.size if flags & CAPPED else (echoed + 3) & ~3)
    words = ""
    if flags & HAS_WORDS:
        words = next((value for type_, value in attributes(data, after) if type_ == MESSAGE_ATTRIBUTE), b"").decode()
    raise KernelRefusedError(-code, words.rstrip("\0"))
