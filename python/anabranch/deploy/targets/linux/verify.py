"""The split of a kernel: by its table of buckets, or by asking it which way it would send connections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.linux import hash_policy
from anabranch.deploy.targets.linux.buckets import owners, waiting
from anabranch.deploy.targets.linux.desired import BUCKETS, PORTS, Desired, Installed
from anabranch.deploy.targets.linux.observe import Observed
from anabranch.deploy.targets.linux.sample import enough, look_ups
from anabranch.deploy.targets.plan.verification import SURE_PCT, Measured
from anabranch.split.stats.mape import mape_floor


def verify(observed: Observed, desired: Desired, connections: int | None) -> tuple[list[Measured], list[str], float]:
    """Buckets, or look-ups, by group and path. No packet is needed, and no time but that of the questions.

    A look-up marks its bucket as busy, as a packet does (`nh_res_bucket_set_busy`), and a busy bucket stays where it
    is: so the buckets of resilient groups are read, which decide for every packet.
    """
    began = time.monotonic()
    groups = []
    with Connection() as connection:
        warnings = [one.note for one in waiting(replace(observed, connection=connection), desired)]
        if connections is not None and all(group.recipe.unit == BUCKETS for group in desired.groups):
            warnings.append("connections: without effect; tables of buckets are read, and nobody is asked")
        for group in desired.groups:
            if group.bypassed is not None:
                groups.append(_counted(group, [0] * len(group.up), 0, group.bypassed))
                continue
            if group.recipe.unit == BUCKETS:
                counts = owners(connection, group, desired.state.groups[group.group_id])
                groups.append(_counted(group, counts, None, _few_values(group)))
                continue
            count = connections or enough(group.recipe.achieved)
            measured = _measured(connection, group, observed.devices, count)
            groups.append(measured)
            if elsewhere := count - measured.total:
                warnings.append(
                    f"group {group.planned.name}: {elsewhere:,} of {count:,} look-ups go another way: longer prefixes, "
                    "rules of routing or addresses of this machine take them"
                )
    return groups, warnings, time.monotonic() - began


def _measured(connection: Connection, group: Installed, devices: Mapping[str, Device], count: int) -> Measured:
    """Look-ups of random connections to the group's destinations."""
    by_hop = look_ups(connection, group.planned.prefixes, devices.values(), count)
    return _counted(group, [by_hop[hop.device, hop.gateway] for hop in group.planned.hops], count, None)


def _few_values(group: Installed) -> str | None:
    """A doubt where one sender's connections have so few values of the hash that chance decides where they go."""
    policy = hash_policy.read(group.planned.prefixes[0].version)
    if policy is None or policy.hashed & PORTS:
        return None
    addresses = sum(prefix.num_addresses for prefix in group.planned.prefixes)
    floor_pct = mape_floor(group.recipe.achieved, addresses)
    if floor_pct <= SURE_PCT:
        return None
    words = "1 destination has" if addresses == 1 else f"{addresses} destinations have"
    return f"the table is right, but without ports {words} too few values of the hash: they are {floor_pct:.2g} % off"


def _counted(group: Installed, counts: Sequence[int], look_ups: int | None, doubt: str | None) -> Measured:
    """The counts by path: of so many look-ups, or of the buckets of a table."""
    return Measured(
        name=group.planned.name,
        recipe=group.recipe.name,
        ports=tuple(str(hop) for hop in group.planned.hops),
        up=group.up,
        asked=group.asked,
        planned=tuple(group.recipe.achieved),
        packets=tuple(counts),
        error_pct=group.planned.error_pct,
        connections=look_ups,
        counted="buckets" if look_ups is None else "look-ups",
        is_table=look_ups is None,
        doubt=doubt,
    )
