"""Cuts every packet of a capture after its transport header and says so in its record.

A fixed snap length cannot do this: what holds an IPv6 header and a SYN's options also holds payload of IPv4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAGIC_LITTLE_MICROSECONDS = b"\xd4\xc3\xb2\xa1"
LINKTYPE_ETHERNET = 1
FILE_HEADER = struct.Struct("<4sHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
ETHERNET_BYTES = 14
IPV6_BYTES = 40
UDP_BYTES = 8
TCP, UDP = 6, 17


def headers_end(frame: bytes) -> int:
    """Position behind the transport header of `frame`; its end if it is neither TCP nor UDP over IP."""
    ethertype = frame[12:14]
    if ethertype == b"\x08\x00":
        transport = ETHERNET_BYTES + 4 * (frame[ETHERNET_BYTES] & 15)
        protocol = frame[ETHERNET_BYTES + 9]
    elif ethertype == b"\x86\xdd":
        transport = ETHERNET_BYTES + IPV6_BYTES
        protocol = frame[ETHERNET_BYTES + 6]
    else:
        return len(frame)
    if protocol == TCP:
        return transport + 4 * (frame[transport + 12] >> 4)
    return transport + UDP_BYTES if protocol == UDP else len(frame)


def headers_only(capture: bytes) -> Iterator[bytes]:
    """The pieces of a classic little-endian Ethernet pcap, each packet cut after its headers."""
    magic, major, minor, zone, accuracy, snap, link = FILE_HEADER.unpack_from(capture)
    if magic != MAGIC_LITTLE_MICROSECONDS or link != LINKTYPE_ETHERNET:
        raise SystemExit(f"record.py: tcpdump wrote magic {magic.hex()}, link type {link}; Ethernet expected")
    yield FILE_HEADER.pack(magic, major, minor, zone, accuracy, snap, link)
    at = FILE_HEADER.size
    while at < len(capture):
        seconds, micros, kept, wire = RECORD_HEADER.unpack_from(capture, at)
        at += RECORD_HEADER.size
        frame = capture[at : at + kept]
        at += kept
        frame = frame[: headers_end(frame)]
        yield RECORD_HEADER.pack(seconds, micros, len(frame), wire) + frame
