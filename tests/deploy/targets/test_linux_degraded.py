"""Plans for a Linux kernel while a path is down: the group stays the group that it is."""

from __future__ import annotations

from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.linux.desired import desired
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.plan_file import parse

PLAN = """[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16"] }
ports = ["e1", "e2", "e3", "e4"]
weights = [1, 1, 1, 1]
"""


def devices(*dead: str) -> dict[str, Device]:
    names = ("e1", "e2", "e3", "e4")
    return {name: Device(number, name, up=True, carrier=name not in dead) for number, name in enumerate(names, 1)}


def test_a_path_that_is_down_changes_no_number_of_buckets() -> None:
    plan = parse(PLAN, "plan.toml")
    whole = desired(plan, LinuxState(), devices(), 65535).state
    ((number, group),) = whole.groups.items()
    assert group.resilience is not None
    left = desired(plan, whole, devices("e4"), 65535).state
    # 32 buckets are 4 % off for three paths: another group would be nearer, and move most connections.
    assert (group.resilience.buckets, set(left.groups)) == (32, {number})
    assert left.groups[number].resilience == group.resilience
    assert len(left.groups[number].members) == 3
