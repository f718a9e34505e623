"""Frames of many connections with other headers around their 5-tuples, made byte by byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

TCP, UDP, ICMP, SCTP, DCCP, UDP_LITE, ESP, AH, FRAGMENT, OPTIONS = 6, 17, 1, 132, 33, 136, 50, 51, 44, 60
RECEIVER = bytes.fromhex("020000000001")
FRAME_LEAST = 60
MARK_BYTES = 4


@dataclass(frozen=True)
class Kind:
    """One kind of headers."""

    words: str
    """The words that `explain` has for them; empty where it has none."""
    ether_type: int
    packet: bytes
    tags: tuple[int, ...] = ()

    def frame(self, number: int) -> bytes:
        """Frame whose Ethernet source is `number`, which its last bytes are too; at least of the least length."""
        header = RECEIVER + number.to_bytes(6, "big")
        for tag in self.tags:
            header += struct.pack("!HH", tag, 5)
        return (header + struct.pack("!H", self.ether_type) + self.packet).ljust(FRAME_LEAST, b"\0")


def ipv4(host: int, protocol: int, payload: bytes, flags_offset: int = 0) -> bytes:
    ends = IPv4Address("10.0.0.1").packed + IPv4Address(0x0A010000 + host).packed
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), host, flags_offset, 64, protocol, 0) + ends
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack("!H", 0xFFFF - total) + header[12:] + payload


def ipv6(host: int, following: int, payload: bytes, label: int = 0) -> bytes:
    ends = IPv6Address("fd00::1").packed + IPv6Address((0xFD01 << 112) + host).packed
    return struct.pack("!IHBB", 0x6000_0000 + label, len(payload), following, 64) + ends + payload
