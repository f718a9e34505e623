"""LLDP frames (IEEE 802.1AB-2016): a port says whose it is, and the neighbour that hears it knows where its cable ends.

A frame has the three TLVs that every frame must have, the system's name, and one of our own: an organisation's (section
8.6) with what says which controller sent it. Our organisation has no number of IEEE's; its own is locally administered.
Whatever a frame says is a stranger's word: texts are escaped and cut where they are read.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.visible import one_line

ETHERTYPE = 0x88CC
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
"""Destination that no bridge passes on (section 7.1)."""
SENDER = bytes.fromhex("0ab5a0000000")
"""Source address of all our frames: locally administered, never a destination."""
TEXT_MAX = 64
"""Letters of a stranger's text that are shown."""
ID_MAX = 255
"""Bytes of an identifier, at most (sections 8.5.2, 8.5.3)."""
TTL_MAX_S = 0xFFFF

_END, _CHASSIS, _PORT, _TTL, _SYSTEM, _ORGANISATION = 0, 1, 2, 3, 5, 127
_LOCAL_CHASSIS, _INTERFACE_PORT = 7, 5
_MAC_OF = {_CHASSIS: 4, _PORT: 3}
_ADDRESS_OF = {_CHASSIS: 5, _PORT: 4}
"""Subtypes of identifiers that are no text (tables 8-2 and 8-3)."""
_ADDRESS_SIZES = {1: 4, 2: 16}
"""Bytes of an address by IANA's number of its family."""
_OURS = bytes.fromhex("0ab5a001")
"""Our organisation, and the subtype of the only TLV that it has."""
_MARK = struct.Struct(">B8sII16s")
_HEAD = struct.Struct(">H")
_LENGTH_BITS = 9


class FrameError(AnabranchError):
    """Bytes that are no LLDP frame."""


@dataclass(frozen=True)
class Mark:
    """Origin of a frame of ours: the controller, the port, and which of its frames it is."""

    owner: int
    """Owner of the controller's rules, 0 to 255."""
    run: bytes
    """8 bytes that this run of the controller drew."""
    port: int
    """Number of the port in the fabric of that run."""
    sequence: int
    """Number of the frame among those of its port."""
    tag: bytes = bytes(16)
    """16 bytes that only who has the run's key can make of the rest."""

    def signed(self) -> bytes:
        """The bytes that the tag is made of."""
        return _MARK.pack(self.owner, self.run, self.port, self.sequence, bytes(16))


@dataclass(frozen=True)
class Advertisement:
    """Content of a frame. Texts that were read are short and have no control characters."""

    chassis: str
    """Name of the switch, in frames of ours."""
    port: str
    """Name of the interface, in frames of ours."""
    ttl_s: int
    """Time for which it holds; 0: the sender goes."""
    system: str = ""
    mark: Mark | None = None

    def encode(self) -> bytes:
        """The frame, without the padding that devices add."""
        parts = [
            _tlv(_CHASSIS, bytes([_LOCAL_CHASSIS]) + _cut(self.chassis)),
            _tlv(_PORT, bytes([_INTERFACE_PORT]) + _cut(self.port)),
            _tlv(_TTL, _HEAD.pack(min(self.ttl_s, TTL_MAX_S))),
        ]
        if self.system:
            parts.append(_tlv(_SYSTEM, _cut(self.system)))
        if self.mark is not None:
            mark = self.mark
            body = _MARK.pack(mark.owner, mark.run, mark.port, mark.sequence, mark.tag)
            parts.append(_tlv(_ORGANISATION, _OURS + body))
        return NEAREST_BRIDGE + SENDER + _HEAD.pack(ETHERTYPE) + b"".join(parts) + _tlv(_END, b"")


def decode(frame: bytes) -> Advertisement:
    """Reads a frame, anybody's.

    Raises:
        FrameError: it is no LLDP frame, a length goes past its end, or one of the first three TLVs is not as it must be
            (section 9.2.8.7.1).

    """
    if len(frame) < 14 or frame[12:14] != _HEAD.pack(ETHERTYPE):
        raise FrameError("frame: no LLDP; its ethertype is another")
    tlvs = list(_tlvs(frame, 14))
    if [kind for kind, _ in tlvs[:3]] != [_CHASSIS, _PORT, _TTL]:
        raise FrameError("frame: it does not begin with chassis, port and time to live")
    (_, chassis), (_, port), (_, ttl) = tlvs[:3]
    if len(ttl) < _HEAD.size:
        raise FrameError(f"frame: a time to live of {len(ttl)} bytes")
    system, mark = "", None
    for kind, value in tlvs[3:]:
        if kind == _SYSTEM and not system:
            system = _text(value)
        elif kind == _ORGANISATION and mark is None and value.startswith(_OURS):
            mark = _mark(value[len(_OURS) :])
    return Advertisement(
        _identifier(_CHASSIS, chassis), _identifier(_PORT, port), _HEAD.unpack_from(ttl)[0], system, mark
    )


def _cut(text: str) -> bytes:
    """The text in as many bytes as an identifier has."""
    return text.encode()[:ID_MAX]


def _tlv(kind: int, value: bytes) -> bytes:
    return _HEAD.pack(kind << _LENGTH_BITS | len(value)) + value


def _tlvs(frame: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Kinds and values up to the end, which a TLV or the frame says."""
    while at < len(frame):
        if len(frame) - at < _HEAD.size:
            raise FrameError("frame: half a TLV at its end")
        (head,) = _HEAD.unpack_from(frame, at)
        kind, length = head >> _LENGTH_BITS, head & (1 << _LENGTH_BITS) - 1
        at += _HEAD.size
        if length > len(frame) - at:
            raise FrameError(f"frame: a TLV of {length} bytes where {len(frame) - at} are left")
        if kind == _END:
            return
        yield kind, frame[at : at + length]
        at += length


def _identifier(kind: int, value: bytes) -> str:
    """A chassis or port as text, whatever its subtype.

    Raises:
        FrameError: it is empty or too long.

    """
    if not 2 <= len(value) <= 1 + ID_MAX:
        raise FrameError(f"frame: an identifier of {len(value)} bytes")
    subtype, rest = value[0], value[1:]
    if subtype == _MAC_OF[kind] and len(rest) == 6:
        return rest.hex(":")
    if subtype == _ADDRESS_OF[kind] and len(rest) - 1 == _ADDRESS_SIZES.get(rest[0]):
        return str(ipaddress.ip_address(rest[1:]))
    return _text(rest)


def _text(value: bytes) -> str:
    """A text to show: without control characters, and not long."""
    shown = one_line(value[: 4 * TEXT_MAX].rstrip(b"\0").decode("utf-8", "backslashreplace"))
    return shown if len(shown) <= TEXT_MAX else f"{shown[:TEXT_MAX]}..."


def _mark(value: bytes) -> Mark | None:
    """Our own part; None where it has another length: that of another version."""
    return Mark(*_MARK.unpack(value)) if len(value) == _MARK.size else None
