"""Buckets of resilient groups that a change of weights has not moved yet (`nh_res_table_upkeep`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.nexthop import NexthopGroup, Resilience
from anabranch.deploy.targets.linux.desired import Desired, Installed
from anabranch.deploy.targets.linux.observe import Observed, read
from anabranch.deploy.targets.protocol import Unfinished


def waiting(observed: Observed, desired: Desired) -> list[Unfinished]:
    """What is left to do for each group that has its weights in the kernel, but not yet the buckets they ask for."""
    now = read(observed.connection, observed.owner, list(observed.devices.values()))
    installed = [one for one in desired.groups if now.groups.get(one.group_id) == desired.state.groups[one.group_id]]
    return list(_waiting(observed.connection, installed, desired))


def owners(connection: Connection, installed: Installed, group: NexthopGroup) -> list[int]:
    """Number of buckets that each path of the plan has, in the order of the plan."""
    owned = Counter(kernel.buckets(connection, installed.group_id))
    members = iter(member for member, _ in group.members)
    return [
        owned[next(members)] if weight and up else 0 for weight, up in zip(installed.written, installed.up, strict=True)
    ]


def _waiting(connection: Connection, installed: list[Installed], desired: Desired) -> Iterator[Unfinished]:
    """Busy buckets that are not yet whose they should be: they change hands when they rest."""
    for one in installed:
        group = desired.state.groups[one.group_id]
        if group.resilience is None:
            continue
        due = [round(share * one.recipe.used) for share in one.recipe.achieved]
        late = sum(abs(had - asked) for had, asked in zip(owners(connection, one, group), due, strict=True)) // 2
        if late:
            name, buckets = one.planned.name, group.resilience.buckets
            within_s = _within_s(group.resilience, kernel.unbalanced_s(connection, one.group_id))
            note = f"group {name}: {late} of {buckets} buckets still have their old path: "
            yield Unfinished(note + _until(group.resilience, within_s), within_s)


def _within_s(resilience: Resilience, unbalanced_s: float) -> float | None:
    if not resilience.unbalanced_timer_cs:
        return None
    return max(0.0, resilience.unbalanced_timer_cs / 100 - unbalanced_s)


def _until(resilience: Resilience, within_s: float | None) -> str:
    """What moves a bucket, in words."""
    idle = f"each waits until no packet has come for {resilience.idle_timer_cs / 100:g} s (idle_timer)"
    if within_s is None:
        return f"{idle}, for ever if its traffic never pauses so long; unbalanced_timer in the plan sets a limit"
    return (
        f"{idle}, {within_s:.3g} s longer at most ({resilience.unbalanced_timer_cs / 100:g} s of imbalance, "
        "unbalanced_timer)"
    )
