"""Messages on a byte stream: the header that each begins with (OpenFlow 1.5.1 section 7.1.1)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from anabranch.deploy.openflow.error import ProtocolError

VERSION = 0x06
"""OpenFlow 1.5, in the header."""
HEADER = struct.Struct(">BBHI")
LONGEST = 0xFFFF
"""Largest number of bytes of a message: its length has 16 bits."""


class Kind(IntEnum):
    """Types of messages that are sent or understood here."""

    HELLO = 0
    ERROR = 1
    ECHO_REQUEST = 2
    ECHO_REPLY = 3
    FEATURES_REQUEST = 5
    FEATURES_REPLY = 6
    SET_CONFIG = 9
    PACKET_IN = 10
    PORT_STATUS = 12
    PACKET_OUT = 13
    FLOW_MOD = 14
    GROUP_MOD = 15
    MULTIPART_REQUEST = 18
    MULTIPART_REPLY = 19
    BARRIER_REQUEST = 20
    BARRIER_REPLY = 21
    ROLE_REQUEST = 24
    ROLE_REPLY = 25
    SET_ASYNC = 28
    METER_MOD = 29
    ROLE_STATUS = 30
    BUNDLE_CONTROL = 33
    BUNDLE_ADD_MESSAGE = 34


class Message(NamedTuple):
    """One message without its header."""

    version: int
    kind: int
    xid: int
    """Number that a reply has in common with its request."""
    body: bytes


def message(kind: int, xid: int, body: bytes = b"") -> bytes:
    """Encodes a message to send, of `LONGEST` bytes at most."""
    return HEADER.pack(VERSION, kind, HEADER.size + len(body), xid) + body


class Frames:
    """Cuts a stream into messages; holds at most one incomplete message, besides the bytes it was just given."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that end in `data`.

        Raises:
            ProtocolError: a length that no message has.

        """
        rest = self._rest
        rest += data
        at, end = 0, len(rest)
        try:
            while end - at >= HEADER.size:
                version, kind, length, xid = HEADER.unpack_from(rest, at)
                if length < HEADER.size:
                    raise ProtocolError(f"a message of {length} bytes, less than its header")
                if at + length > end:
                    break
                body = bytes(rest[at + HEADER.size : at + length])
                at += length
                yield Message(version, kind, xid, body)
        finally:
            del rest[:at]
