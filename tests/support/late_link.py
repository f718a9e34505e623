"""The process of `late_pair`: a rate, then one of two delays, between tun devices of two namespaces.

`late_link.py NAMESPACE NAMESPACE RATE_MBPS DELAY_MS LATER_MS`; writes `ready` once the devices are there.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from anabranch.deploy.netlink.namespace import inside

TUNSETIFF, TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
OVERHEAD_BYTES = 38
"""Ethernet's header, checksum, preamble and gap."""
ROOM_BYTES = 300_000
AT_ONCE = 64
PACKET_BYTES_MAX = 2000
LONGEST_S = 60.0


def _tun(namespace: str) -> int:
    with inside(namespace):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"late", TUN_WITHOUT_HEADER))
    return device


def _carry(ends: tuple[int, int], rate_bps: float, delay_s: float, later_s: float) -> None:
    """Carries packets both ways until the process is ended, or a test cannot last so long."""
    coin = random.Random(1)
    under_way: list[tuple[float, int, int, bytes]] = []
    free_at, count, ends_at = 0.0, 0, time.monotonic() + LONGEST_S
    while (now := time.monotonic()) < ends_at:
        while under_way and under_way[0][0] <= now:
            _, _, end, packet = heapq.heappop(under_way)
            try:
                os.write(end, packet)
            except OSError:
                # The device is not up yet: as a link that is not there.
                continue
        for end, other in (ends, ends[::-1]):
            for packet in _arrived(end):
                leaves_at = now
                if end == ends[0]:
                    if (free_at - now) * rate_bps / 8 > ROOM_BYTES:
                        continue
                    leaves_at = free_at = max(free_at, now) + 8 * (len(packet) + OVERHEAD_BYTES) / rate_bps
                count += 1
                late = coin.random() < 0.5
                heapq.heappush(under_way, (leaves_at + delay_s + late * later_s, count, other, packet))
        time.sleep(100e-6)


def _arrived(end: int) -> Iterator[bytes]:
    with suppress(BlockingIOError):
        for _ in range(AT_ONCE):
            yield os.read(end, PACKET_BYTES_MAX)


if __name__ == "__main__":
    *names, rate_mbps, delay_ms, later_ms = sys.argv[1:]
    both = (_tun(names[0]), _tun(names[1]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    _carry(both, float(rate_mbps) * 1e6, float(delay_ms) / 1e3, float(later_ms) / 1e3)
