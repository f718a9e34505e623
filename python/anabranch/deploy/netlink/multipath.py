"""Routes of a kernel with the weight of each of their devices, whoever made them (`net/ipv4/fib_semantics.c`)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anabranch.deploy.netlink.connection import HEADER, Connection, attributes
from anabranch.deploy.netlink.kernel import FAMILIES, ROUTE, nexthops, route_of
from anabranch.deploy.netlink.message import RTM_GETROUTE, rtmsg
from anabranch.deploy.netlink.nexthop import Device, Route

RTA_OIF, RTA_MULTIPATH = 4, 9
RTNEXTHOP = struct.Struct("=HBBi")
"""`struct rtnexthop`: length, flags, weight - 1, number of the device."""


@dataclass(frozen=True)
class WeightedRoute:
    """A route and its split."""

    route: Route
    weights: Mapping[str, int]
    """Weight of each device, 1 where there is one; several next hops by one device are added up."""


def weighted_routes(connection: Connection, devices: Iterable[Device]) -> list[WeightedRoute]:
    """All routes of all tables, with their weights."""
    known = list(devices)
    names = {device.index: device.name for device in known}
    grouped = dict(_of_groups(connection, known))
    routes: dict[tuple[object, ...], tuple[Route, Counter[str]]] = {}
    for version, family in FAMILIES.items():
        asked = rtmsg()
        asked["family"] = family
        for data in connection.dump_bytes(asked, RTM_GETROUTE):
            route = route_of(data, version)
            weights = Counter({names.get(index, str(index)): weight for index, weight in _hops(data)})
            # A route by a nexthop object says only its number, where the kernel is set so (nexthop_compat_mode).
            weights = weights or Counter(grouped.get(route.nexthop_id, {}))
            # IPv6 may say each next hop in a message of its own.
            routes.setdefault((version, route.key), (route, Counter()))[1].update(weights)
    return [WeightedRoute(route, dict(weights)) for route, weights in routes.values()]


def _of_groups(connection: Connection, devices: list[Device]) -> Iterator[tuple[int, Mapping[str, int]]]:
    singles, groups = nexthops(connection, devices)
    device = {one.nexthop_id: one.hop.device for one in singles}
    yield from ((number, {name: 1}) for number, name in device.items())
    for group in groups:
        weights: Counter[str] = Counter()
        for member, weight in group.members:
            weights[device.get(member, str(member))] += weight
        yield group.group_id, weights


def _hops(data: bytes) -> Iterator[tuple[int, int]]:
    """Device and weight of each next hop of a route."""
    hops: Counter[int] = Counter()
    for kind, value in attributes(data, HEADER.size + ROUTE.size):
        if kind == RTA_OIF:
            hops[int.from_bytes(value, "little")] += 1
        elif kind == RTA_MULTIPATH:
            offset = 0
            while offset + RTNEXTHOP.size <= len(value):
                length, _, weight, index = RTNEXTHOP.unpack_from(value, offset)
                if length < RTNEXTHOP.size:
                    break
                hops[index] += weight + 1
                offset += (length + 3) & ~3
    yield from hops.items()
