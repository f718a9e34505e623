"""Reading and writing the kernel's nexthops, groups and routes (`net/ipv4/nexthop.c`)."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from anabranch.deploy.netlink.connection import CREATE, EXCLUSIVE, REPLACE, Connection, KernelRefusedError
from anabranch.deploy.netlink.message import (
    GROUP_ENTRY,
    GROUP_MPATH,
    GROUP_RESILIENT,
    RTM_DELNEXTHOP,
    RTM_DELROUTE,
    RTM_GETLINK,
    RTM_GETNEXTHOP,
    RTM_GETNEXTHOPBUCKET,
    RTM_GETROUTE,
    RTM_NEWNEXTHOP,
    RTM_NEWROUTE,
    ifinfmsg,
    nhmsg,
    rtmsg,
)
from anabranch.deploy.netlink.nexthop import (
    Device,
    Hop,
    Nexthop,
    NexthopGroup,
    Resilience,
    Route,
    address_of,
    prefix_of,
)

IFF_UP, IFF_LOWER_UP = 0x1, 0x10000
FAMILIES = {4: int(socket.AF_INET), 6: int(socket.AF_INET6)}
VERSIONS = {family: version for version, family in FAMILIES.items()}
RTN_UNICAST = 1
TABLE_IN_ATTRIBUTE = 252
"""Table number in the header that refers to an attribute (RT_TABLE_COMPAT): the real one does not fit a byte."""
NARROW_WEIGHT_MAX, WIDE_WEIGHT_MAX = 255, 65535
NO_NEXTHOP = 0xFFFF_FFFF


def devices(connection: Connection) -> list[Device]:
    """All devices of the namespace."""
    links = []
    for message in connection.dump(ifinfmsg(), RTM_GETLINK):
        flags = int(message["flags"])
        name, alias = str(message.get_attr("IFLA_IFNAME")), str(message.get_attr("IFLA_IFALIAS") or "")
        links.append(Device(int(message["index"]), name, bool(flags & IFF_UP), bool(flags & IFF_LOWER_UP), alias))
    return links


def nexthops(connection: Connection, known: Iterable[Device]) -> tuple[list[Nexthop], list[NexthopGroup]]:
    """All single nexthops by a device, and all groups; blackholes and nexthops of bridges are left out."""
    names = {device.index: device.name for device in known}
    singles, groups = [], []
    for message in connection.dump(nhmsg(), RTM_GETNEXTHOP):
        number, protocol = int(message.get_attr("NHA_ID")), int(message["protocol"])
        entries = message.get_attr("NHA_GROUP")
        if entries is not None:
            groups.append(NexthopGroup(number, _members(bytes(entries)), _resilience(message), protocol))
        elif message.get_attr("NHA_OIF") in names and int(message["family"]) in VERSIONS:
            packed = message.get_attr("NHA_GATEWAY")
            gateway = None if packed is None else address_of(bytes(packed))
            hop = Hop(VERSIONS[int(message["family"])], names[message.get_attr("NHA_OIF")], gateway)
            singles.append(Nexthop(number, hop, protocol))
    return singles, groups


def routes(connection: Connection, protocol: int = 0) -> list[Route]:
    """The routes that a protocol made, or all, in all tables."""
    entries = []
    for version in FAMILIES:
        asked = rtmsg()
        asked["family"], asked["protocol"] = FAMILIES[version], protocol
        for message in connection.dump(asked, RTM_GETROUTE):
            packed = message.get_attr("RTA_DST") or bytes(4 if version == 4 else 16)
            entries.append(
                Route(
                    prefix_of(bytes(packed), int(message["dst_len"])),
                    int(message.get_attr("RTA_TABLE") or message["table"]),
                    int(message.get_attr("RTA_PRIORITY") or 0),
                    int(message.get_attr("RTA_NH_ID") or 0),
                    int(message["protocol"]),
                )
            )
    return [route for route in entries if protocol in (0, route.protocol)]


def buckets(connection: Connection, group_id: int) -> list[int]:
    """The nexthop of each bucket of a resilient group."""
    asked = nhmsg()
    asked["attrs"] = [("NHA_ID", group_id)]
    owners = {}
    for message in connection.dump(asked, RTM_GETNEXTHOPBUCKET):
        bucket = message.get_attr("NHA_RES_BUCKET")
        owners[int(bucket.get_attr("NHA_RES_BUCKET_INDEX"))] = int(bucket.get_attr("NHA_RES_BUCKET_NH_ID"))
    return [owners[index] for index in sorted(owners)]


def weight_max(connection: Connection) -> int:
    """Largest weight that this kernel accepts: 65535 since Linux 6.12, 255 before.

    It is tested with a group of an impossible nexthop, which both refuse, each with another word: nothing is created.
    """
    asked = nhmsg()
    asked["attrs"] = [("NHA_GROUP", GROUP_ENTRY.pack(NO_NEXTHOP, 0, 1, 0)), ("NHA_GROUP_TYPE", GROUP_MPATH)]
    try:
        connection.request(asked, RTM_NEWNEXTHOP, CREATE | EXCLUSIVE)
    except KernelRefusedError as refused:
        if "Reserved" in str(refused):
            return NARROW_WEIGHT_MAX
        if "Invalid nexthop id" in str(refused):
            return WIDE_WEIGHT_MAX
        raise
    raise AssertionError(f"the kernel has a nexthop {NO_NEXTHOP}")


def put_nexthop(connection: Connection, nexthop: Nexthop, device: Device) -> None:
    """Creates or replaces a nexthop.

    Raises:
        KernelRefusedError: among others, the device is down or has no carrier.

    """
    message = nhmsg()
    message["family"], message["protocol"] = FAMILIES[nexthop.hop.version], nexthop.protocol
    attributes: list[tuple[str, Any]] = [("NHA_ID", nexthop.nexthop_id), ("NHA_OIF", device.index)]
    if nexthop.hop.gateway is not None:
        message["family"] = FAMILIES[nexthop.hop.gateway.version]
        attributes.append(("NHA_GATEWAY", nexthop.hop.gateway.packed))
    message["attrs"] = attributes
    connection.request(message, RTM_NEWNEXTHOP, CREATE | REPLACE)


def put_group(connection: Connection, group: NexthopGroup) -> None:
    """Creates a group, or replaces members and weights of one of the same kind and number of buckets."""
    message = nhmsg()
    message["protocol"] = group.protocol
    entries = (GROUP_ENTRY.pack(number, (w - 1) & 0xFF, (w - 1) >> 8, 0) for number, w in group.members)
    attributes: list[tuple[str, Any]] = [
        ("NHA_ID", group.group_id),
        ("NHA_GROUP", b"".join(entries)),
        ("NHA_GROUP_TYPE", GROUP_MPATH if group.resilience is None else GROUP_RESILIENT),
    ]
    if group.resilience is not None:
        settings = [
            ("NHA_RES_GROUP_BUCKETS", group.resilience.buckets),
            ("NHA_RES_GROUP_IDLE_TIMER", group.resilience.idle_timer_cs),
            ("NHA_RES_GROUP_UNBALANCED_TIMER", group.resilience.unbalanced_timer_cs),
        ]
        attributes.append(("NHA_RES_GROUP", {"attrs": settings}))
    message["attrs"] = attributes
    connection.request(message, RTM_NEWNEXTHOP, CREATE | REPLACE)


def delete_nexthop(connection: Connection, number: int) -> None:
    """Removes a nexthop or group, and with it the routes and memberships that name it."""
    message = nhmsg()
    message["attrs"] = [("NHA_ID", number)]
    connection.request(message, RTM_DELNEXTHOP)


def put_route(connection: Connection, route: Route, replace: bool) -> None:
    """Creates a route, or with `replace` gives the one of that prefix, table and metric another nexthop."""
    connection.request(_route(route), RTM_NEWROUTE, CREATE | (REPLACE if replace else EXCLUSIVE))


def delete_route(connection: Connection, route: Route) -> None:
    """Removes a route."""
    connection.request(_route(route), RTM_DELROUTE)


def _route(route: Route) -> Any:
    message = rtmsg()
    message["family"], message["dst_len"] = FAMILIES[route.prefix.version], route.prefix.prefixlen
    message["protocol"], message["type"] = route.protocol, RTN_UNICAST
    message["table"] = route.table if route.table < 256 else TABLE_IN_ATTRIBUTE
    message["attrs"] = [
        ("RTA_DST", route.prefix.network_address.packed),
        ("RTA_PRIORITY", route.metric),
        ("RTA_TABLE", route.table),
        ("RTA_NH_ID", route.nexthop_id),
    ]
    return message


def _members(entries: bytes) -> tuple[tuple[int, int], ...]:
    return tuple((number, (high << 8 | low) + 1) for number, low, high, _ in GROUP_ENTRY.iter_unpack(entries))


def _resilience(message: Any) -> Resilience | None:
    settings = message.get_attr("NHA_RES_GROUP")
    if settings is None:
        return None
    names = ("BUCKETS", "IDLE_TIMER", "UNBALANCED_TIMER")
    return Resilience(*(int(settings.get_attr(f"NHA_RES_GROUP_{name}")) for name in names))
