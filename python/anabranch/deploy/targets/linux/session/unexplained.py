"""Changes of a kernel's routes that the kernel did not make itself when devices died (`nexthop_flush_dev`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from anabranch.deploy.netlink.nexthop import Nexthop, NexthopGroup
from anabranch.deploy.targets.linux.change import Step, steps
from anabranch.deploy.targets.linux.observe import LinuxState


def unexplained(before: LinuxState, after: LinuxState, died: Collection[str]) -> list[Step]:
    """The steps from one state to the other that somebody else must have taken.

    With a device the kernel removes its nexthops, which leave their groups; an empty group goes with its routes.

    Args:
        before: the state as it was.
        after: the state as it is.
        died: names of the devices that could carry nothing at some moment in between.

    """
    flushed = {number for number, one in before.nexthops.items() if one.hop.device in died}
    return [step for step in steps(before, after) if not _by_kernel(step, before, flushed)]


def _by_kernel(step: Step, before: LinuxState, flushed: set[int]) -> bool:
    match step.old:
        case Nexthop(nexthop_id=number):
            return step.new is None and number in flushed
        case NexthopGroup() if isinstance(step.new, NexthopGroup):
            gone = {*step.old.members} - {*step.new.members}
            left = tuple(member for member in step.old.members if member not in gone)
            return {number for number, _ in gone} <= flushed and replace(step.old, members=left) == step.new
        case NexthopGroup():
            return step.new is None and _empties(step.old, flushed)
        case None:
            return False
        case route:
            group = before.groups.get(route.nexthop_id)
            return step.new is None and group is not None and _empties(group, flushed)


def _empties(group: NexthopGroup, flushed: set[int]) -> bool:
    return {number for number, _ in group.members} <= flushed
