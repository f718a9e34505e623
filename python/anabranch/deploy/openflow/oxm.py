"""Fields of packets as bytes: OXM, "OpenFlow extensible match" (OpenFlow 1.5.1 section 7.2.3).

Of the registers, OpenFlow 1.5 knows pairs only, "packet registers" of 64 bits (section 7.2.3.10), and so do Open
vSwitch's descriptions of flows; here they are the two halves, `reg0` and `reg1` being those of the first.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from anabranch.deploy.openflow.blocks import pad, padded, unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.match import FIELDS, NICIRA_1, Field, Match
from anabranch.files.errors import AnabranchError

PACKET_REGISTERS = 0x8001
_HEADER = struct.Struct(">HBB")
_MATCH = struct.Struct(">HH")
_OXM_MATCH = 1
_HALF = 0xFFFFFFFF
_REGISTERS = [field.name for field in FIELDS.values() if field.oxm_class == NICIRA_1]
_BY_NUMBER = {(field.oxm_class, field.number): field for field in FIELDS.values()}


def header(oxm_class: int, number: int, size: int, *, masked: bool = False) -> bytes:
    """Encodes the header of a field of `size` bytes."""
    return _HEADER.pack(oxm_class, number << 1 | masked, size << masked)


_EXACT = {name: header(field.oxm_class, field.number, field.size) for name, field in FIELDS.items()}
_MASKED = {name: header(field.oxm_class, field.number, field.size, masked=True) for name, field in FIELDS.items()}
_SIZES = {name: field.size for name, field in FIELDS.items()}
_PAIR = {name: number for number, name in enumerate(_REGISTERS)}


def encode_exact(name: str, value: int) -> bytes:
    """Encodes a field and its whole value."""
    return _EXACT[name] + value.to_bytes(_SIZES[name], "big")


def encode_match(match: Match) -> bytes:
    """Encodes `struct ofp_match`, padded."""
    parts = []
    pairs: dict[int, list[int]] = {}
    for name, value, mask in match.fields:
        if name in _PAIR:
            pair = pairs.setdefault(_PAIR[name] // 2, [0, 0])
            shift = 0 if _PAIR[name] % 2 else 32
            pair[0] |= value << shift
            pair[1] |= (_HALF if mask is None else mask) << shift
        elif mask is None:
            parts.append(_EXACT[name] + value.to_bytes(_SIZES[name], "big"))
        else:
            size = _SIZES[name]
            parts.append(_MASKED[name] + value.to_bytes(size, "big") + mask.to_bytes(size, "big"))
    for number, (value, mask) in pairs.items():
        whole = mask == 0xFFFFFFFF_FFFFFFFF
        parts.append(header(PACKET_REGISTERS, number, 8, masked=not whole) + value.to_bytes(8, "big"))
        if not whole:
            parts.append(mask.to_bytes(8, "big"))
    body = b"".join(parts) + match.foreign
    return pad(_MATCH.pack(_OXM_MATCH, _MATCH.size + len(body)) + body)


def decode_match(data: bytes, at: int, end: int) -> tuple[Match, int]:
    """Decodes the match that begins at `at`; returns it and the position behind it."""
    kind, length = unpack(_MATCH, data, at, end, "match")
    if kind != _OXM_MATCH or not _MATCH.size <= length <= end - at:
        raise ProtocolError(f"match: type {kind} and length {length}")
    fields: dict[str, tuple[int, int]] = {}
    foreign = []
    for oxm in _each(data, at + _MATCH.size, at + length):
        named = _named(oxm)
        if not named:
            foreign.append(oxm.data)
        for name, value, mask in named:
            if name in fields:
                raise ProtocolError(f"match: {name} twice")
            fields[name] = value, mask
    return Match.normal(fields, b"".join(foreign)), at + padded(length)


def encode_fields(names: tuple[str, ...]) -> bytes:
    """Encodes fields that are to be hashed, each with a value of ones (`ofproto/openflow` of Open vSwitch)."""
    return b"".join(_EXACT[name] + b"\xff" * _SIZES[name] for name in names)


def decode_fields(data: bytes, at: int, end: int) -> tuple[tuple[str, ...], bytes]:
    """Decodes names of fields that are hashed whole, and the bytes of those that are not or have no name here."""
    names, foreign = [], []
    for oxm in _each(data, at, end):
        field = oxm.field
        whole = field is not None and oxm.mask is None and oxm.value in (b"\xff" * field.size, _ones(field))
        if field is not None and whole:
            names.append(field.name)
        else:
            foreign.append(oxm.data)
    return tuple(names), b"".join(foreign)


def decode_exact(data: bytes, at: int, end: int) -> tuple[str, int] | None:
    """Decodes a field and its whole value; None if it has no name here or has a mask.

    `end` is the end of the bytes, padding included.
    """
    oxm = _one(data, at, end)
    if oxm.field is None or oxm.mask is not None:
        return None
    value = int.from_bytes(oxm.value, "big")
    return None if value >> oxm.field.bits else (oxm.field.name, value)


def nxm_number(name: str) -> int:
    """A field as the 32-bit number by which Nicira's actions name it.

    Raises:
        AnabranchError: no such field.

    """
    if name not in _EXACT:
        raise AnabranchError(f"field: {name}: unknown; one of {', '.join(FIELDS)}")
    return int.from_bytes(_EXACT[name], "big")


def field_of_nxm_number(number: int) -> Field | None:
    """Finds the field of such a number; None for a field without a name here."""
    field = _BY_NUMBER.get((number >> 16, number >> 9 & 0x7F))
    return field if field is not None and nxm_number(field.name) == number else None


class _Oxm(NamedTuple):
    oxm_class: int
    number: int
    value: bytes
    mask: bytes | None
    data: bytes

    @property
    def field(self) -> Field | None:
        field = _BY_NUMBER.get((self.oxm_class, self.number))
        return field if field is not None and len(self.value) == field.size else None


def _one(data: bytes, at: int, end: int) -> _Oxm:
    oxm_class, number, length = unpack(_HEADER, data, at, end, "field")
    start = at + _HEADER.size
    if start + length > end or (number & 1 and length % 2):
        raise ProtocolError(f"field {oxm_class:#x}/{number >> 1}: a length of {length} bytes")
    whole = data[at : start + length]
    size = length // 2 if number & 1 else length
    mask = data[start + size : start + length] if number & 1 else None
    return _Oxm(oxm_class, number >> 1, data[start : start + size], mask, whole)


def _each(data: bytes, at: int, end: int) -> list[_Oxm]:
    fields = []
    while at < end:
        oxm = _one(data, at, end)
        fields.append(oxm)
        at += len(oxm.data)
    return fields


def _named(oxm: _Oxm) -> list[tuple[str, int, int]]:
    """Fields of an OXM with values and masks; none if it has no name here."""
    value = int.from_bytes(oxm.value, "big")
    if oxm.oxm_class == PACKET_REGISTERS and len(oxm.value) == 8 and 2 * oxm.number + 1 < len(_REGISTERS):
        mask = (1 << 64) - 1 if oxm.mask is None else int.from_bytes(oxm.mask, "big")
        first = 2 * oxm.number
        halves = (_REGISTERS[first], value >> 32, mask >> 32), (_REGISTERS[first + 1], value & _HALF, mask & _HALF)
        return [half for half in halves if half[2]]
    field = oxm.field
    if field is None or (oxm.mask is not None and not field.maskable):
        return []
    ones = (1 << field.bits) - 1
    mask = ones if oxm.mask is None else int.from_bytes(oxm.mask, "big") & ones
    if value > ones:
        raise ProtocolError(f"match: {field.name}: {value:#x}: more than {field.bits} bits")
    return [(field.name, value, mask)]


def _ones(field: Field) -> bytes:
    return ((1 << field.bits) - 1).to_bytes(field.size, "big")
