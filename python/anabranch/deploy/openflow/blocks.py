"""Actions, instructions and properties alike: a type, a length, and a body padded to eight bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.deploy.openflow.error import ProtocolError

HEAD = struct.Struct(">HH")


def blocks(data: bytes, start: int, end: int, what: str) -> Iterator[tuple[int, int, int]]:
    """(type, start of its head, end of its body) of each of the blocks between `start` and `end` of `data`.

    Raises:
        ProtocolError: a length exceeds the data, or is zero.

    """
    while start < end:
        if end - start < HEAD.size:
            raise ProtocolError(f"{what}: {end - start} bytes left over")
        kind, length = HEAD.unpack_from(data, start)
        if not HEAD.size <= length <= end - start:
            raise ProtocolError(f"{what}: type {kind}: a length of {length} bytes where {end - start} are left")
        yield kind, start, start + length
        start += padded(length)


def padded(length: int) -> int:
    """The next multiple of eight."""
    return (length + 7) & ~7


def pad(data: bytes) -> bytes:
    """`data` and zeros up to a multiple of eight."""
    return data + bytes(-len(data) & 7)


def unpack(layout: struct.Struct, data: bytes, at: int, end: int, what: str) -> tuple[int, ...]:
    """Unpacks the numbers of a fixed part.

    Raises:
        ProtocolError: the part does not fit before `end`.

    """
    if end - at < layout.size:
        raise ProtocolError(f"{what}: {max(0, end - at)} bytes where {layout.size} are needed")
    return layout.unpack_from(data, at)
