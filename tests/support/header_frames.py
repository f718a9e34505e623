"""Frames of many connections with other headers around their 5-tuples, made byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import product

TCP, UDP, ICMP, SCTP, DCCP, UDP_LITE, ESP, AH, FRAGMENT, OPTIONS = 6, 17, 1, 132, 33, 136, 50, 51, 44, 60
RECEIVER = bytes.fromhex("020000000001")
IPV4, IPV6, MPLS = 0x0800, 0x86DD, 0x8847
TAG, SERVICE_TAG, OLD_TAG = 0x8100, 0x88A8, 0x9100
PADDED = bytes.fromhex("0000010400000000")
"""Extension header of eight bytes, but for the number of the next one."""

Made = tuple[int, bytes, Sequence[tuple[int, int]]]
"""EtherType, packet, and tags: type and VLAN of each."""


def ipv4(host: int, protocol: int, payload: bytes, flags_offset: int = 0, source: str = "10.0.0.1") -> bytes:
    ends = IPv4Address(source).packed + IPv4Address(0x0A010000 + host).packed
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), host, flags_offset, 64, protocol, 0) + ends
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack("!H", 0xFFFF - total) + header[12:] + payload


def ipv6(host: int, following: int, payload: bytes, label: int = 0) -> bytes:
    ends = IPv6Address("fd00::1").packed + IPv6Address((0xFD01 << 112) + host).packed
    return struct.pack("!IHBB", 0x6000_0000 + label, len(payload), following, 64) + ends + payload


def transport(protocol: int, host: int) -> bytes:
    """A header of `protocol` whose source port, or SPI, is of `host`, and some bytes."""
    ports = struct.pack("!HH", 1000 + host, 443)
    match protocol:
        case 6:
            return ports + bytes(8) + b"\x50\x02\x04\x00" + bytes(4)
        case 17:
            return ports + struct.pack("!HH", 20, 0) + bytes(8)
        case 1:
            return bytes([8, 0, 0, 0]) + bytes(12)
    return ports + bytes(12)


def authenticated(protocol: int, host: int, spi: int = 9) -> bytes:
    return struct.pack("!BBHII", protocol, 1, 0, spi, 0) + transport(protocol, host)


def fragment6(protocol: int, host: int, offset_more: int, payload: bytes) -> bytes:
    return struct.pack("!BBHI", protocol, 0, offset_more, host) + payload


def options(protocol: int, payload: bytes, count: int = 1) -> bytes:
    for _ in range(count):
        payload, protocol = bytes([protocol]) + PADDED[1:] + payload, OPTIONS
    return payload


@dataclass(frozen=True)
class Kind:
    """Kind of headers around a connection."""

    words: str
    """The words that `explain` has for it; empty where it has none."""
    make: Callable[[int, int, bytes], Made]
    """The packet of a host and a protocol whose last bytes are given."""


Packet = Callable[[int, int, bytes], bytes]


def _v4(words: str, packet: Packet, *tags: tuple[int, int]) -> Kind:
    return Kind(words, lambda host, protocol, mark: (IPV4, packet(host, protocol, mark), tags))


def _v6(words: str, packet: Packet, *tags: tuple[int, int]) -> Kind:
    return Kind(words, lambda host, protocol, mark: (IPV6, packet(host, protocol, mark), tags))


def _piece6(offset_more: int) -> Packet:
    return lambda host, p, mark: ipv6(host, FRAGMENT, fragment6(p, host, offset_more, transport(p, host) + mark))


def _labelled(host: int, protocol: int, mark: bytes) -> Made:
    return MPLS, struct.pack("!I", (100 + host) << 12 | 1 << 8 | 64) + _whole4(host, protocol, mark), ()


def _whole4(host: int, protocol: int, mark: bytes) -> bytes:
    return ipv4(host, protocol, transport(protocol, host) + mark)


def _whole6(host: int, protocol: int, mark: bytes) -> bytes:
    return ipv6(host, protocol, transport(protocol, host) + mark)


def _swapped(header: bytes) -> bytes:
    return header[2:4] + header[:2] + header[4:]


ODD = "stacked VLAN tags, of type 0x9100, or more than two"
KINDS = {
    "4 whole": _v4("", _whole4),
    "4 tagged": _v4("", _whole4, (TAG, 5)),
    "4 priority": _v4("", _whole4, (TAG, 0)),
    "4 swapped ports": _v4("", lambda host, p, mark: ipv4(host, p, _swapped(transport(p, host)) + mark)),
    "4 stacked": _v4("stacked VLAN tags", _whole4, (SERVICE_TAG, 5), (TAG, 5)),
    "4 old tag": _v4(ODD, _whole4, (OLD_TAG, 5)),
    "4 three tags": _v4(ODD, _whole4, (SERVICE_TAG, 5), (TAG, 5), (TAG, 6)),
    "4 mpls": Kind("MPLS", _labelled),
    "4 first": _v4("first fragments", lambda host, p, mark: ipv4(host, p, transport(p, host) + mark, 0x2000)),
    "4 later": _v4("later fragments", lambda host, p, mark: ipv4(host, p, b"later   " + mark, 3)),
    "4 ah": _v4("authentication header", lambda host, p, mark: ipv4(host, AH, authenticated(p, host) + mark)),
    "4 ah, other SPI": _v4(
        "authentication header", lambda host, p, mark: ipv4(host, AH, authenticated(p, host, 8) + mark)
    ),
    "4 ah, other ports": _v4(
        "authentication header", lambda host, p, mark: ipv4(host, AH, authenticated(p, host + 1) + mark)
    ),
    "4 tunnel": _v4("", lambda host, p, mark: ipv4(host, 4, _whole4(host + 7, p, mark))),
    "4 tunnel, other inside": _v4("", lambda host, p, mark: ipv4(host, 4, _whole4(host + 8, p, mark))),
    "4 GRE": _v4("", lambda host, p, mark: ipv4(host, 47, b"\0\0\x08\0" + _whole4(host + 7, p, mark))),
    "6 whole": _v6("", _whole6),
    "6 label": _v6("", lambda host, p, mark: ipv6(host, p, transport(p, host) + mark, label=0x12345)),
    "6 stacked": _v6("stacked VLAN tags", _whole6, (SERVICE_TAG, 5), (TAG, 5)),
    "6 first": _v6("first fragments", _piece6(1)),
    "6 later": _v6("later fragments", _piece6(3 << 3)),
    "6 atomic": _v6(
        "extension headers",
        _piece6(0),
    ),
    "6 options": _v6(
        "extension headers", lambda host, p, mark: ipv6(host, OPTIONS, options(p, transport(p, host) + mark))
    ),
    "6 options behind": _v6(
        "first fragments, extension headers",
        lambda host, p, mark: ipv6(host, FRAGMENT, fragment6(OPTIONS, host, 1, options(p, transport(p, host) + mark))),
    ),
    "6 ah": _v6("authentication header", lambda host, p, mark: ipv6(host, AH, authenticated(p, host) + mark)),
    "6 ah, other SPI": _v6(
        "authentication header", lambda host, p, mark: ipv6(host, AH, authenticated(p, host, 8) + mark)
    ),
}


@dataclass(frozen=True)
class Framed:
    """One frame."""

    kind: str
    number: int
    """Its Ethernet source, and its last bytes where it is not padded."""
    frame: bytes

    @property
    def words(self) -> str:
        """The words that `explain` has for its headers."""
        return KINDS[self.kind].words


def framed(
    kinds: Iterable[str], hosts: Sequence[int], protocols: Sequence[int] = (TCP, UDP, SCTP), first: int = 1
) -> list[Framed]:
    """Frames of each kind to every host over every protocol, numbered from `first`; hosts of two protocols are two."""
    found: list[Framed] = []
    for number, (kind, host, protocol) in enumerate(product(kinds, hosts, protocols), first):
        ether_type, packet, tags = KINDS[kind].make(256 * host + protocol, protocol, number.to_bytes(4, "big"))
        header = RECEIVER + number.to_bytes(6, "big") + b"".join(struct.pack("!HH", *tag) for tag in tags)
        found.append(Framed(kind, number, (header + struct.pack("!H", ether_type) + packet).ljust(60, b"\0")))
    return found


def pcap(frames: Iterable[bytes]) -> bytes:
    """A capture of Ethernet frames, all at the same time."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(one), len(one)) + one for one in frames)
