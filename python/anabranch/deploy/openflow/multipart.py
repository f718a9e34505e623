"""Long answers, which come in parts (OpenFlow 1.5.1 section 7.3.5)."""

from __future__ import annotations

import struct
from enum import IntEnum

from anabranch.deploy.openflow.blocks import unpack
from anabranch.deploy.openflow.error import ProtocolError

_HEAD = struct.Struct(">HH4x")
_MORE = 1
LONGEST = 32 << 20
"""Largest number of bytes of all parts of one answer: some 100 000 rules. No more is held in memory."""


class What(IntEnum):
    """Kind of a request."""

    FLOWS = 1
    """Flows with their counters, as Open vSwitch answers."""
    PORT_COUNTERS = 4
    BUCKET_COUNTERS = 6
    GROUPS = 7
    METERS = 10
    PORTS = 13


def encode_request(what: What, body: bytes) -> bytes:
    """Body of the request, in one part."""
    return _HEAD.pack(what, 0) + body


class Answer:
    """Parts of an answer that have arrived."""

    def __init__(self, what: What) -> None:
        self._what = what
        self._size = 0
        self.parts: list[bytes] = []

    def add(self, body: bytes) -> bool:
        """Takes a reply; returns whether it was the last part.

        Raises:
            ProtocolError: the reply answers another request, or the answer is too long.

        """
        what, flags = unpack(_HEAD, body, 0, len(body), "multipart reply")
        if what != self._what:
            raise ProtocolError(f"a multipart reply of type {what} where {self._what.value} was asked for")
        self._size += len(body)
        if self._size > LONGEST:
            raise ProtocolError(f"an answer of more than {LONGEST} bytes")
        if len(body) > _HEAD.size:
            self.parts.append(body[_HEAD.size :])
        return not flags & _MORE
