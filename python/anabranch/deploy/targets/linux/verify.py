"""The split of a kernel, measured by asking it which way it would send connections."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.lookup import look_up
from anabranch.deploy.netlink.nexthop import Device, Hop, Prefix
from anabranch.deploy.targets.linux.buckets import waiting_of
from anabranch.deploy.targets.linux.desired import Desired, Installed
from anabranch.deploy.targets.linux.observe import Observed
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.split.stats.mape import mape_floor

LOOK_UPS_MIN, LOOK_UPS_MAX = 20_000, 200_000
CHANCE_PCT = 2.0
SEED = 171
TCP = 6


def verify(observed: Observed, desired: Desired, connections: int | None) -> tuple[list[Measured], list[str], float]:
    """Look-ups by group and path. No packet is needed, and no time but that of the questions."""
    began = time.monotonic()
    groups, warnings = [], list[str]()
    with Connection() as connection:
        for group in desired.groups:
            warnings += waiting_of(connection, group, desired.state.groups[group.group_id])
            count = connections or _enough(group.recipe.achieved)
            measured = _measured(connection, group, observed.devices, count)
            groups.append(measured)
            if elsewhere := count - measured.total:
                warnings.append(
                    f"group {group.planned.name}: {elsewhere:,} look-ups go another way: longer prefixes, rules of "
                    "routing or addresses of this machine take them"
                )
    return groups, warnings, time.monotonic() - began


def _enough(shares: Sequence[float]) -> int:
    """Look-ups that chance alone puts off by `CHANCE_PCT`, as far as one wants to wait: the error falls as 1/sqrt."""
    floor_pct = mape_floor(shares, LOOK_UPS_MIN)
    return min(LOOK_UPS_MAX, max(LOOK_UPS_MIN, round(LOOK_UPS_MIN * (floor_pct / CHANCE_PCT) ** 2)))


def _measured(connection: Connection, group: Installed, devices: Mapping[str, Device], count: int) -> Measured:
    """Look-ups of random connections to the group's destinations."""
    planned = group.planned
    random = np.random.Generator(np.random.PCG64(SEED))
    destinations = _addresses(planned.prefixes, count, random)
    ports = random.integers(1024, 65536, (2, count)).astype(np.uint16)
    taken = Counter(look_up(connection, TCP, destinations, ports[0], ports[1]))
    numbers = {device.index: device.name for device in devices.values()}
    by_hop: Counter[tuple[str, object]] = Counter()
    for (device, gateway), hits in taken.items():
        by_hop[numbers.get(device, str(device)), gateway] += hits
    return Measured(
        name=planned.name,
        recipe=group.recipe.name,
        ports=tuple(str(hop) for hop in planned.hops),
        up=group.up,
        asked=group.asked,
        planned=tuple(group.recipe.achieved),
        packets=tuple(by_hop[_key(hop)] for hop in planned.hops),
        error_pct=planned.error_pct,
        connections=count,
        counted="look-ups",
    )


def _key(hop: Hop) -> tuple[str, object]:
    return hop.device, hop.gateway


def _addresses(prefixes: tuple[Prefix, ...], count: int, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Random addresses of the prefixes in turn, shape (count, 4 or 16)."""
    size = prefixes[0].max_prefixlen // 8
    rows = random.integers(0, 256, (count, size)).astype(np.uint8)
    for index, prefix in enumerate(prefixes):
        mask = np.frombuffer(prefix.netmask.packed, np.uint8)
        network = np.frombuffer(prefix.network_address.packed, np.uint8)
        rows[index :: len(prefixes)] = (rows[index :: len(prefixes)] & ~mask) | network
    return rows
