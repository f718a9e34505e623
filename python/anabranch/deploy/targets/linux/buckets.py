"""Buckets of resilient groups that a change of weights has not moved yet (`nh_res_table_upkeep`)."""

from __future__ import annotations

from collections import Counter

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.nexthop import NexthopGroup, Resilience
from anabranch.deploy.targets.linux.desired import Desired, Installed
from anabranch.deploy.targets.linux.observe import Observed, read


def waiting(observed: Observed, desired: Desired) -> list[str]:
    """A note for each group that has its weights in the kernel, but not yet the buckets that they ask for."""
    now = read(observed.connection, observed.owner, list(observed.devices.values()))
    return [
        note
        for one in desired.groups
        if now.groups.get(one.group_id) == desired.state.groups[one.group_id]
        for note in waiting_of(observed.connection, one, desired.state.groups[one.group_id])
    ]


def waiting_of(connection: Connection, installed: Installed, group: NexthopGroup) -> list[str]:
    """A note if buckets of a resilient group are not yet whose they should be: they change hands when they rest."""
    if group.resilience is None:
        return []
    owners = Counter(kernel.buckets(connection, installed.group_id))
    due = [round(share * installed.recipe.used) for share in installed.recipe.achieved if share]
    owned = [owners[member] for member, _ in group.members]
    late = sum(abs(one - other) for one, other in zip(due, owned, strict=True)) // 2
    if not late:
        return []
    return [
        f"group {installed.planned.name}: {late} of {group.resilience.buckets} buckets still have their old path: "
        f"{_until(group.resilience)}"
    ]


def _until(resilience: Resilience) -> str:
    """What moves a bucket, in words."""
    idle = f"each waits until no packet has come for {resilience.idle_timer_cs / 100:g} s (idle_timer)"
    if resilience.unbalanced_timer_cs:
        return f"{idle}, {resilience.unbalanced_timer_cs / 100:g} s of imbalance at most (unbalanced_timer)"
    return f"{idle}, for ever if its traffic never pauses so long; unbalanced_timer in the plan sets a limit"
