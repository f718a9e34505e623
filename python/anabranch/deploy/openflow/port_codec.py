"""Ports as bytes: description (OpenFlow 1.5.1 section 7.2.1), its changes (7.4.3) and counters (7.3.5.6)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.deploy.openflow.action import ANY
from anabranch.deploy.openflow.blocks import blocks, unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.port import Port, PortCounters

_PORT = struct.Struct(">IH2x6s2x16sII")
_ETHERNET = 0
_ETHERNET_LAYOUT = struct.Struct(">HH4xIIIIII")
_DOWN = 1
"""Bit of a port that is down by configuration (OFPPC_PORT_DOWN) or as a state (OFPPS_LINK_DOWN)."""
_REASONS = ("add", "delete", "modify")
_STATUS = struct.Struct(">B7x")
_COUNTERS = struct.Struct(">H2xIII8Q")
_UNKNOWN = 0xFFFFFFFF_FFFFFFFF
_REQUEST = struct.Struct(">I4x")


def port_request() -> bytes:
    """Encodes the request for all ports."""
    return _REQUEST.pack(ANY)


def decode_ports(data: bytes) -> Iterator[Port]:
    """The ports of a part of a description."""
    at = 0
    while at < len(data):
        port, at = _decode_port(data, at)
        yield port


def decode_port_status(data: bytes) -> tuple[Port, str]:
    """Decodes a port's current state and the change that happened: `add`, `delete` or `modify`."""
    reason = unpack(_STATUS, data, 0, len(data), "port status")[0]
    if reason >= len(_REASONS):
        raise ProtocolError(f"port status: reason {reason}")
    port, _ = _decode_port(data, _STATUS.size)
    return port, _REASONS[reason]


def decode_port_counters(data: bytes) -> Iterator[PortCounters]:
    """Decodes the counters of a part of the statistics; counters that the switch does not keep are 0."""
    at = 0
    while at < len(data):
        length, number, _, _, *counted = unpack(_COUNTERS, data, at, len(data), "port counters")
        if not _COUNTERS.size <= length <= len(data) - at:
            raise ProtocolError(f"port {number}: counters of {length} bytes")
        yield PortCounters(number, *[0 if count == _UNKNOWN else count for count in counted[:6]])
        at += length


def _decode_port(data: bytes, at: int) -> tuple[Port, int]:
    if len(data) - at < _PORT.size:
        raise ProtocolError(f"port: {len(data) - at} bytes where {_PORT.size} are needed")
    number, length, address, name, configuration, state = _PORT.unpack_from(data, at)
    if not _PORT.size <= length <= len(data) - at:
        raise ProtocolError(f"port {number}: a length of {length} bytes")
    speed_kbps = 0
    for kind, start, stop in blocks(data, at + _PORT.size, at + length, "port properties"):
        if kind == _ETHERNET:
            speed_kbps = unpack(_ETHERNET_LAYOUT, data, start, stop, "port")[6]
    up = not (configuration | state) & _DOWN
    label = name.partition(b"\0")[0].decode("utf-8", "backslashreplace")
    return Port(number, label, address.hex(":"), up, speed_kbps * 1000), at + length
