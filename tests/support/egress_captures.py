"""Captures that Open vSwitch writes of what leaves its ports (`options:tx_pcap`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator


def numbers(pcap: bytes) -> Iterator[int]:
    """Ethernet sources of a capture in this machine's byte order; a packet written by half is left out."""
    at = 24
    while at + 16 <= len(pcap):
        (length,) = struct.unpack_from("=I", pcap, at + 8)
        if at + 16 + length <= len(pcap):
            yield int.from_bytes(pcap[at + 22 : at + 28], "big")
        at += 16 + length
