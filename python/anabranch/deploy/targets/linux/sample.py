"""Samples of a kernel's split: route look-ups of random connections to some prefixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.lookup import look_up
from anabranch.deploy.netlink.nexthop import Address, Device, Prefix
from anabranch.split.stats.mape import mape_floor

LOOK_UPS_MIN, LOOK_UPS_MAX = 20_000, 200_000
CHANCE_PCT = 2.0
SEED = 171
TCP = 6


def enough(shares: Sequence[float]) -> int:
    """Look-ups that chance alone puts off by `CHANCE_PCT`, as far as one wants to wait: the error falls as 1/sqrt."""
    floor_pct = mape_floor(shares, LOOK_UPS_MIN)
    return min(LOOK_UPS_MAX, max(LOOK_UPS_MIN, round(LOOK_UPS_MIN * (floor_pct / CHANCE_PCT) ** 2)))


def look_ups(
    connection: Connection, prefixes: Sequence[Prefix], devices: Iterable[Device], count: int
) -> Counter[tuple[str, Address | None]]:
    """Look-ups by device and gateway.

    Args:
        connection: to the kernel.
        prefixes: destinations, all of one IP version.
        devices: all devices.
        count: of look-ups.

    """
    random = np.random.Generator(np.random.PCG64(SEED))
    destinations = _addresses(prefixes, count, random)
    ports = random.integers(1024, 65536, (2, count)).astype(np.uint16)
    numbers = {device.index: device.name for device in devices}
    hits: Counter[tuple[str, Address | None]] = Counter()
    for device, gateway in look_up(connection, TCP, destinations, ports[0], ports[1]):
        hits[numbers.get(device, str(device)), gateway] += 1
    return hits


def _addresses(prefixes: Sequence[Prefix], count: int, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Random addresses of the prefixes in turn, shape (count, 4 or 16)."""
    size = prefixes[0].max_prefixlen // 8
    rows = random.integers(0, 256, (count, size)).astype(np.uint8)
    for index, prefix in enumerate(prefixes):
        mask = np.frombuffer(prefix.netmask.packed, np.uint8)
        network = np.frombuffer(prefix.network_address.packed, np.uint8)
        rows[index :: len(prefixes)] = (rows[index :: len(prefixes)] & ~mask) | network
    return rows
