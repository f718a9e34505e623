"""The split of a router's kernel: by asking it where it would send connections, and by counters of its devices."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.kernel import sent_packets
from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.deploy.targets.frr.desired import Desired, Expected
from anabranch.deploy.targets.frr.observe import Observed, chosen
from anabranch.deploy.targets.linux.sample import enough, look_ups
from anabranch.deploy.targets.plan.verification import Measured

PACKETS_LEAST = 1000
"""Packets from which the few of routing itself do not matter."""
RECIPE = "bgp"


def verify(
    observed: Observed, desired: Desired, seconds: float, connections: int | None
) -> tuple[list[Measured], list[str], float]:
    """Look-ups by group and IP version, then packets of all groups together, where all are to be split alike."""
    began = time.monotonic()
    with Connection() as connection:
        before = sent_packets(connection)
        measured = [
            _looked_up(connection, group, prefixes, observed)
            for group in desired.groups
            if group.bytes_per_s
            for prefixes in _versions(group.planned.prefixes)
        ]
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
        sent = Counter(sent_packets(connection))
        sent.subtract(before)
        steady = chosen(connection, observed.devices) == observed.kernel
    groups, notes = _sent(desired, sent, connections, steady)
    return [*measured, *groups], notes, time.monotonic() - began


def _versions(prefixes: Sequence[Prefix]) -> list[list[Prefix]]:
    by_version = [[prefix for prefix in prefixes if prefix.version == version] for version in (4, 6)]
    return [listed for listed in by_version if listed]


def _looked_up(connection: Connection, group: Expected, prefixes: Sequence[Prefix], observed: Observed) -> Measured:
    weights = [group.weights.get(port, 0) for port in group.planned.ports]
    count = enough([weight / sum(weights) for weight in weights])
    hits: Counter[str] = Counter()
    for (device, _), number in look_ups(connection, prefixes, observed.devices.values(), count).items():
        hits[device] += number
    name = f"{group.planned.name} (IPv{prefixes[0].version})"
    packets = [hits[port] for port in group.planned.ports]
    return _measured(group, name, packets, counted="look-ups", connections=count)


def _sent(
    desired: Desired, sent: Counter[str], connections: int | None, steady: bool
) -> tuple[list[Measured], list[str]]:
    split = [group for group in desired.groups if len(group.bytes_per_s) > 1]
    if not split:
        return [], []
    if len({tuple(sorted(group.weights.items())) for group in split}) > 1:
        return [], ["packets: groups are split differently, and a device counts those of all; look-ups alone count"]
    first = split[0]
    packets = [sent[port] for port in first.planned.ports]
    if sum(packets) < PACKETS_LEAST:
        return [], [f"packets: {sum(packets)} left by these devices, too few to count; look-ups alone count"]
    one = _measured(
        first, "packets of all groups", packets, counted="packets", connections=connections, unsteady=not steady
    )
    return [one], []


def _measured(
    group: Expected,
    name: str,
    packets: Sequence[int],
    *,
    counted: str,
    connections: int | None,
    unsteady: bool = False,
) -> Measured:
    planned, ports = group.planned, group.planned.ports
    weights = [group.weights.get(port, 0) for port in ports]
    return Measured(
        name=name,
        recipe=RECIPE,
        ports=ports,
        up=tuple(not mbps or port in group.bytes_per_s for port, mbps in zip(ports, planned.mbps, strict=True)),
        asked=tuple(mbps / sum(planned.mbps) for mbps in planned.mbps),
        planned=tuple(weight / sum(weights) for weight in weights),
        packets=tuple(packets),
        error_pct=planned.error_pct,
        connections=connections,
        counted=counted,
        unsteady=unsteady,
    )
