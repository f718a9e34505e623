"""Rules as bytes: adding and deleting (OpenFlow 1.5.1 section 7.3.4.2), description and counters (7.3.5.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.deploy.openflow.action import ANY, Action
from anabranch.deploy.openflow.action_list import decode_actions, encode_actions
from anabranch.deploy.openflow.blocks import blocks, pad, padded, unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.modification import FlowMod
from anabranch.deploy.openflow.oxm import decode_match, encode_match
from anabranch.deploy.openflow.port import FlowCounters
from anabranch.deploy.openflow.tables import Flow

_MOD = struct.Struct(">QQBBHHHIIIHH")
_FLOW_ADD, _FLOW_DELETE_STRICT = 0, 4
_NO_BUFFER = 0xFFFFFFFF
_GOTO, _APPLY = 1, 4
_GOTO_LAYOUT = struct.Struct(">HHB3x")
_APPLY_HEAD = struct.Struct(">HH4x")
_DESCRIPTION = struct.Struct(">H2xBxHHHHHQ")
_REQUEST = struct.Struct(">B3xII4xQQ")
_ALL_TABLES = 0xFF
_STATISTICS = struct.Struct(">HH")
_STATISTIC = struct.Struct(">HBB")
_BASIC, _PACKETS, _BYTES = 0x8002, 4, 5
_NO_MATCH = b"\x00\x01\x00\x04\x00\x00\x00\x00"


def encode_flow_mod(mod: FlowMod) -> bytes:
    """Body of the message; a deletion is strict and for the rule's own cookie only."""
    flow = mod.flow
    adds = mod.command == "add"
    head = _MOD.pack(
        flow.cookie,
        0 if adds else 0xFFFFFFFF_FFFFFFFF,
        flow.table,
        _FLOW_ADD if adds else _FLOW_DELETE_STRICT,
        0,
        0,
        flow.priority,
        _NO_BUFFER,
        ANY,
        ANY,
        0,
        0,
    )
    return head + encode_match(flow.match) + (_encode_instructions(flow) if adds else b"")


def flow_request(cookie: int, mask: int) -> bytes:
    """Encodes the request for the rules of all tables whose cookie is `cookie` in the bits of `mask`."""
    return _REQUEST.pack(_ALL_TABLES, ANY, ANY, cookie, mask) + _NO_MATCH


def decode_flows(data: bytes) -> Iterator[Flow]:
    """The rules of a part of a description."""
    for at, end in _entries(data):
        _, table, priority, _, _, _, _, cookie = _DESCRIPTION.unpack_from(data, at)
        match, after = decode_match(data, at + _DESCRIPTION.size, end)
        actions, goto, foreign = _decode_instructions(data, _after_statistics(data, after, end), end)
        yield Flow(table, priority, match, actions, goto, cookie, foreign)


def decode_flow_counters(data: bytes) -> Iterator[FlowCounters]:
    """The counters of the rules of a part of a description."""
    for at, end in _entries(data):
        _, table, priority, _, _, _, _, cookie = _DESCRIPTION.unpack_from(data, at)
        match, after = decode_match(data, at + _DESCRIPTION.size, end)
        numbers = _statistics(data, after, end)
        yield FlowCounters(table, priority, match, cookie, numbers.get(_PACKETS, 0), numbers.get(_BYTES, 0))


def _entries(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        length = unpack(_DESCRIPTION, data, at, len(data), "flow")[0]
        if not _DESCRIPTION.size <= length <= len(data) - at:
            raise ProtocolError(f"flow: a length of {length} bytes")
        yield at, at + length
        at += length


def _encode_instructions(flow: Flow) -> bytes:
    parts = []
    if flow.actions:
        actions = encode_actions(flow.actions)
        parts.append(_APPLY_HEAD.pack(_APPLY, _APPLY_HEAD.size + len(actions)) + actions)
    parts.append(flow.foreign)
    if flow.goto is not None:
        parts.append(_GOTO_LAYOUT.pack(_GOTO, _GOTO_LAYOUT.size, flow.goto))
    return b"".join(parts)


def _decode_instructions(data: bytes, at: int, end: int) -> tuple[tuple[Action, ...], int | None, bytes]:
    actions: tuple[Action, ...] = ()
    goto = None
    foreign = []
    for kind, start, stop in blocks(data, at, end, "instructions"):
        if kind == _APPLY:
            unpack(_APPLY_HEAD, data, start, stop, "apply-actions")
            actions = decode_actions(data, start + _APPLY_HEAD.size, stop)
        elif kind == _GOTO:
            goto = unpack(_GOTO_LAYOUT, data, start, stop, "goto-table")[2]
        else:
            foreign.append(pad(data[start:stop]))
    return actions, goto, b"".join(foreign)


def _after_statistics(data: bytes, at: int, end: int) -> int:
    _, length = unpack(_STATISTICS, data, at, end, "statistics")
    if not _STATISTICS.size <= length <= end - at:
        raise ProtocolError(f"statistics: a length of {length} bytes")
    return at + padded(length)


def _statistics(data: bytes, at: int, end: int) -> dict[int, int]:
    """OXS fields by number (section 7.2.4)."""
    _after_statistics(data, at, end)
    stop = at + _STATISTICS.unpack_from(data, at)[1]
    at += _STATISTICS.size
    numbers = {}
    while at < stop:
        oxs_class, number, length = unpack(_STATISTIC, data, at, stop, "statistic")
        at += _STATISTIC.size + length
        if at > stop:
            raise ProtocolError(f"statistic {number >> 1}: a length of {length} bytes")
        if oxs_class == _BASIC:
            numbers[number >> 1] = int.from_bytes(data[at - length : at], "big")
    return numbers
