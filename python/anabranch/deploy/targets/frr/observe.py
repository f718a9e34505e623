"""The split of each destination as bgpd, zebra and the kernel have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.multipath import WeightedRoute, weighted_routes
from anabranch.deploy.netlink.nexthop import Device, Prefix
from anabranch.deploy.targets.frr import zebra
from anabranch.deploy.targets.frr.vtysh import ask
from anabranch.files.errors import AnabranchError

MAIN_TABLE = 254
FAMILIES = {"ip": "ipv4", "ipv6": "ipv6"}
"""Words of zebra's and of bgpd's commands."""


@dataclass(frozen=True)
class Observed:
    """A router at one moment, and the connection that its kernel answers on."""

    connection: Connection
    devices: Mapping[str, Device]
    bgpd: Mapping[Prefix, Mapping[str, int]] | None
    """Bandwidth in bytes per second by device; `None` where bgpd is not running."""
    zebra: Mapping[Prefix, zebra.ZebraRoute]
    kernel: Mapping[Prefix, WeightedRoute]
    """Routes of the main table by which the kernel goes: those with the least metric."""


@contextmanager
def observe(vty_socket: str) -> Iterator[Observed]:
    """The router in the network namespace this runs in.

    Raises:
        AnabranchError: zebra or the kernel does not answer.

    """
    routes: dict[Prefix, zebra.ZebraRoute] = {}
    for word in FAMILIES:
        answer = ask(vty_socket, f"show {word} route json")
        if answer is None:
            raise AnabranchError(f"vty-socket: {vty_socket}: zebra is not running; start FRR")
        routes |= {route.prefix: route for route in zebra.routes(answer, f"vty-socket: {vty_socket}")}
    paths: dict[Prefix, dict[str, int]] | None = {}
    for family in FAMILIES.values():
        answer = ask(vty_socket, f"show bgp {family} unicast json detail")
        paths = None if answer is None or paths is None else paths | zebra.paths(answer, routes)
    with Connection() as connection:
        devices = {device.name: device for device in kernel.devices(connection)}
        yield Observed(connection, devices, paths, routes, chosen(connection, devices))


def chosen(connection: Connection, devices: Mapping[str, Device]) -> dict[Prefix, WeightedRoute]:
    """Routes of the main table by which the kernel goes."""
    listed = [one for one in weighted_routes(connection, devices.values()) if one.route.table == MAIN_TABLE]
    listed.sort(key=lambda one: -one.route.metric)
    return {one.route.prefix: one for one in listed}
