"""What the kernel leaves of routes when devices lose their carrier (`nexthop_flush_dev`, `net/ipv4/nexthop.c`)."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import replace

from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.deploy.targets.linux.observe import LinuxState


def flushed(state: LinuxState, died: Collection[str]) -> LinuxState:
    """The state without nexthops by some devices: they leave their groups, and an empty group goes with its routes.

    Args:
        state: the state before, or one that was read while the kernel was at it: it announces first, and flushes then.
        died: names of the devices.

    """
    gone = {number for number, one in state.nexthops.items() if one.hop.device in died}
    if not gone:
        return state
    left = {
        number: replace(group, members=tuple(member for member in group.members if member[0] not in gone))
        for number, group in state.groups.items()
    }
    groups = {number: group for number, group in left.items() if group.members}
    emptied = left.keys() - groups.keys()
    return LinuxState(
        {number: one for number, one in state.nexthops.items() if number not in gone},
        groups,
        {key: route for key, route in state.routes.items() if route.nexthop_id not in emptied},
    )


def swept(over: LinuxState, died: Collection[str]) -> Set[tuple[Prefix, int, int]]:
    """Routes that may be gone although their groups are there: these were written anew while the kernel emptied them.

    A plan may change because the other end of a link has lost it, before this end is announced. What is written then
    creates the group again, and not the routes, which were there when the kernel was read.

    Args:
        over: the state as it was read before that.
        died: names of the devices.

    """
    return over.routes.keys() - flushed(over, died).routes.keys()
