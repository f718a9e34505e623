"""The split of a bridge, measured by the counters of its buckets."""

from __future__ import annotations

import asyncio
from collections import Counter

from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.targets.ovs.desired import Desired, Installed
from anabranch.deploy.targets.ovs.observe import Observed, on_connection, read
from anabranch.deploy.targets.ovs.plan_file import PlanFile
from anabranch.deploy.targets.ovs.split import path_group
from anabranch.deploy.targets.plan.verification import Measured


def verify(
    plan: PlanFile, before: Observed, desired: Desired, seconds: float, connections: int | None
) -> tuple[list[Measured], list[str], float]:
    """Packets by group and path over so many seconds."""

    async def run(connection: Connection) -> list[Measured]:
        started = await _packets(connection)
        await asyncio.sleep(seconds)
        ended = await _packets(connection)
        after = await read(connection, plan, before.address, before.tls)
        steady = (after.own, after.up) == (before.own, before.up)
        sent = {key: count - started.get(key, 0) for key, count in ended.items()}
        return [_measured(plan, group, before, sent, connections, steady) for group in desired.groups]

    return on_connection(before.address, before.tls, run), [], seconds


async def _packets(connection: Connection) -> Counter[tuple[int, int]]:
    """Packets by group and position of the bucket."""
    counters = await connection.bucket_counters()
    return Counter({(one.group_id, position): count for one in counters for position, count in enumerate(one.packets)})


def _measured(
    plan: PlanFile,
    group: Installed,
    bridge: Observed,
    sent: dict[tuple[int, int], int],
    connections: int | None,
    steady: bool,
) -> Measured:
    split = group.split
    asked = split.shares() if split.recipe == "failover" else [float(share) for share in split.paths.asked]
    by_port: Counter[int] = Counter()
    ids = {plan.ownership.group_id(split.index)}
    ids |= {path_group(split, plan.ownership, path) for path in range(len(split.ports))}
    for one in bridge.own.groups:
        if one.group_id in ids:
            for position, bucket in enumerate(one.buckets):
                by_port[bucket.watch_port] += sent.get((one.group_id, position), 0)
    up = tuple(bridge.up.get(port, False) for port in split.ports)
    alive = any(up) if split.recipe == "failover" else any(one and share for one, share in zip(up, asked, strict=True))
    return Measured(
        name=group.planned.name,
        recipe=split.recipe,
        ports=tuple(
            bridge.names.get(port, str(name)) for port, name in zip(split.ports, group.planned.ports, strict=True)
        ),
        up=up,
        asked=tuple(asked),
        planned=tuple(split.shares(up)) if alive else (0.0,) * len(up),
        packets=tuple(by_port[port] for port in split.ports),
        error_pct=group.planned.error_pct,
        connections=connections,
        unsteady=not steady,
    )
