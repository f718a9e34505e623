"""The observed nexthops, groups and routes of a plan's owner in a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.nexthop import Device, Nexthop, NexthopGroup, Prefix, Route
from anabranch.deploy.targets.linux.plan_file import GROUPS_MAX

PROTOCOL = 171
"""Protocol of all we make, in rtnetlink's numbers: one that `/etc/iproute2/rt_protos` gives nobody."""
FIRST = 0xAB00_0000
PER_OWNER = 1 << 16
NEXTHOPS = GROUPS_MAX
"""Offset in an owner's numbers: those from here on are single nexthops, those below groups."""


def first_number(owner: int) -> int:
    """The least number of an owner's nexthops and groups."""
    return FIRST + owner * PER_OWNER


@dataclass(frozen=True)
class LinuxState:
    """An owner's part of a kernel."""

    nexthops: Mapping[int, Nexthop] = field(default_factory=dict)
    groups: Mapping[int, NexthopGroup] = field(default_factory=dict)
    routes: Mapping[tuple[Prefix, int, int], Route] = field(default_factory=dict)


def read(connection: Connection, owner: int, devices: Sequence[Device]) -> LinuxState:
    """Reads an owner's part of a kernel."""
    first = first_number(owner)

    def own(number: int, protocol: int) -> bool:
        return protocol == PROTOCOL and first <= number < first + PER_OWNER

    singles, groups = kernel.nexthops(connection, devices)
    return LinuxState(
        {one.nexthop_id: one for one in singles if own(one.nexthop_id, one.protocol)},
        {one.group_id: one for one in groups if own(one.group_id, one.protocol)},
        {one.key: one for one in kernel.routes(connection, PROTOCOL) if own(one.nexthop_id, one.protocol)},
    )


@dataclass(frozen=True)
class Observed:
    """A kernel at one moment, and the connection that it answers on."""

    connection: Connection
    owner: int
    state: LinuxState
    devices: Mapping[str, Device]


@contextmanager
def observe(owner: int) -> Iterator[Observed]:
    """The kernel of the network namespace this runs in; rtnetlink has no lock to hold until a change."""
    with Connection() as connection:
        devices = {device.name: device for device in kernel.devices(connection)}
        state = read(connection, owner, list(devices.values()))
        yield Observed(connection, owner, state, devices)
