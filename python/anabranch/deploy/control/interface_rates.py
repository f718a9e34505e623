"""Rates and counters of the interfaces of a network namespace, as drivers, operators and the kernel say them."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from typing import TextIO

from anabranch.deploy.openflow.port import PortCounters

SIOCETHTOOL, ETHTOOL_GSET = 0x8946, 0x1
ETHTOOL_CMD = struct.Struct("=III H 6x 8x H 14x")
"""`struct ethtool_cmd` of linux/ethtool.h: command, two masks, the speed's low half, ..., its high half, the rest."""
SPEED_UNKNOWN = 0xFFFF_FFFF
RATE_KEY = "anabranch-rate-bps="
"""In the alias of an interface: what its operator says of its rate."""
RATE_DIGITS_MAX = 18


def speed_bps(control: socket.socket, device: str) -> int:
    """Speed that the driver reports; 0 where it does not know."""
    setting = ctypes.create_string_buffer(ETHTOOL_CMD.pack(ETHTOOL_GSET, 0, 0, 0, 0))
    try:
        fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(setting)))
    except OSError:
        return 0
    _, _, _, low, high = ETHTOOL_CMD.unpack(setting.raw[: ETHTOOL_CMD.size])
    mbps = high << 16 | low
    return 0 if mbps in (0xFFFF, SPEED_UNKNOWN) else mbps * 1_000_000


def alias_bps(alias: str) -> int:
    """Rate in an alias; 0 where there is none."""
    rate = next((word.removeprefix(RATE_KEY) for word in alias.split() if word.startswith(RATE_KEY)), "")
    return int(rate) if rate.isascii() and rate.isdigit() and len(rate) <= RATE_DIGITS_MAX else 0


def counters_of(counters: TextIO) -> dict[str, PortCounters]:
    """Counters of each device by name (`/proc/net/dev`); its number is not there."""
    counters.seek(0)
    by_name = {}
    for line in counters.read().splitlines()[2:]:
        device, _, numbers = line.partition(":")
        got_bytes, got, _, got_dropped, *_, sent_bytes, sent, _, sent_dropped, _, _, _, _ = map(int, numbers.split())
        by_name[device.strip()] = PortCounters(0, got, sent, got_bytes, sent_bytes, got_dropped, sent_dropped)
    return by_name
