"""Packets to and from a switch as bytes: packet-out (OpenFlow 1.5.1 section 7.3.6) and packet-in (7.4.1)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from anabranch.deploy.openflow.action import CONTROLLER, Output
from anabranch.deploy.openflow.action_list import encode_actions
from anabranch.deploy.openflow.blocks import unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.oxm import decode_match, encode_match

_OUT = struct.Struct(">IH2x")
_IN = struct.Struct(">IHBBQ")
_NO_BUFFER = 0xFFFFFFFF
_PADDING = 2


@dataclass(frozen=True)
class PacketIn:
    """A packet that a rule sent to the controller."""

    in_port: int
    """Port that it came by."""
    cookie: int
    """Cookie of the rule."""
    frame: bytes


def encode_packet_out(port: int, frame: bytes) -> bytes:
    """Encodes a frame that is to leave by a port."""
    actions = encode_actions([Output(port)])
    return _OUT.pack(_NO_BUFFER, len(actions)) + encode_match(Match.of(in_port=CONTROLLER)) + actions + frame


def decode_packet_in(data: bytes) -> PacketIn:
    """Decodes a packet; what the switch kept of it is not asked for.

    Raises:
        ProtocolError: a part is missing, or the port that it came by is.

    """
    cookie = unpack(_IN, data, 0, len(data), "packet-in")[4]
    match, at = decode_match(data, _IN.size, len(data))
    port, _ = match.as_mapping.get("in_port", (None, None))
    if port is None or at + _PADDING > len(data):
        raise ProtocolError("packet-in: without the port that it came by, or cut off")
    return PacketIn(port, cookie, data[at + _PADDING :])
