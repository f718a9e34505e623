"""Turns off what a network device does for the kernel: Open vSwitch on AF_PACKET passes on frames as they are.

A frame whose checksum is left to the device, or longer than the MTU, is lost at the receiver: ping works, TCP hangs.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Iterable

SIOCETHTOOL = 0x8946
COMMANDS = (0x17, 0x15, 0x1F, 0x24, 0x2C)
"""linux/ethtool.h: ETHTOOL_STXCSUM, _SRXCSUM, _STSO, _SGSO, _SGRO."""
SENDING = (0x17, 0x1F, 0x24)
"""Features that a packet of many segments takes to pass a device whole, checksums first."""


def turn_off(devices: Iterable[str]) -> None:
    """Turns off checksums, segmentation and coalescing of devices in this thread's namespace.

    Raises:
        OSError: a device is missing or refuses.

    """
    _set(devices, COMMANDS, 0)


def turn(devices: Iterable[str], whole: bool) -> None:
    """Has packets of many segments pass devices of this thread's namespace whole, or cut up; coalesces nothing.

    Raises:
        OSError: a device is missing or refuses.

    """
    _set(devices, SENDING if whole else SENDING[::-1], int(whole))


def _set(devices: Iterable[str], commands: Iterable[int], value: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for device in devices:
            for command in commands:
                setting = ctypes.create_string_buffer(struct.pack("II", command, value))
                request = struct.pack("16sP16x", device.encode(), ctypes.addressof(setting))
                fcntl.ioctl(control, SIOCETHTOOL, request)
