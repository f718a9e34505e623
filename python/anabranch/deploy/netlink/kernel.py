"""Reading and writing the kernel's nexthops, groups and routes (`net/ipv4/nexthop.c`)."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from anabranch.deploy.netlink.connection import (
    CREATE,
    EXCLUSIVE,
    HEADER,
    REPLACE,
    Connection,
    KernelRefusedError,
    attributes,
)
from anabranch.deploy.netlink.message import (
    DUMP_STATS,
    GROUP_ENTRY,
    GROUP_MPATH,
    GROUP_RESILIENT,
    RTM_DELNEXTHOP,
    RTM_DELROUTE,
    RTM_GETLINK,
    RTM_GETNEIGH,
    RTM_GETNEXTHOP,
    RTM_GETNEXTHOPBUCKET,
    RTM_GETROUTE,
    RTM_GETRULE,
    RTM_NEWNEIGH,
    RTM_NEWNEXTHOP,
    RTM_NEWROUTE,
    fibmsg,
    ifinfmsg,
    ndmsg,
    nhmsg,
    rtmsg,
)
from anabranch.deploy.netlink.nexthop import (
    Address,
    Device,
    Hop,
    Nexthop,
    NexthopGroup,
    Resilience,
    Route,
    Rule,
    address_of,
    prefix_of,
)

IFF_UP, IFF_LOWER_UP = 0x1, 0x10000
FAMILIES = {4: int(socket.AF_INET), 6: int(socket.AF_INET6)}
VERSIONS = {family: version for version, family in FAMILIES.items()}
ROUTE = struct.Struct("=8BI")
"""`struct rtmsg`: family, lengths of destination and source, ToS, table, protocol, scope, type, flags."""
RTA_DST, RTA_PRIORITY, RTA_TABLE, RTA_NH_ID = 1, 6, 15, 30
RTN_UNICAST, FR_ACT_TO_TBL = 1, 1
NUD_INCOMPLETE, NUD_FAILED = 0x01, 0x20
NTF_USE = 0x01
NHA_ID, NHA_RES_BUCKET, NHA_GROUP_STATS = 1, 13, 15
BUCKET_INDEX, BUCKET_NEXTHOP = 1, 3
"""Attributes of `NHA_RES_BUCKET`."""
STATS_ID, STATS_PACKETS = 1, 2
"""Attributes of an entry of `NHA_GROUP_STATS`."""
NEXTHOP_BYTES = 8
"""Size of `struct nhmsg`."""
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


def sent_packets(connection: Connection) -> dict[str, int]:
    """Packets that each device of the namespace has sent, by its name."""
    sent = {}
    for message in connection.dump(ifinfmsg(), RTM_GETLINK):
        counters = message.get_attr("IFLA_STATS64") or message.get_attr("IFLA_STATS")
        sent[str(message.get_attr("IFLA_IFNAME"))] = int(counters["tx_packets"])
    return sent


def nexthops(connection: Connection, known: Iterable[Device]) -> tuple[list[Nexthop], list[NexthopGroup]]:
    """All single nexthops by a device and those that drop, and all groups; nexthops of bridges are left out."""
    names = {device.index: device.name for device in known}
    singles, groups = [], []
    for message in connection.dump(nhmsg(), RTM_GETNEXTHOP):
        number, protocol = int(message.get_attr("NHA_ID")), int(message["protocol"])
        entries = message.get_attr("NHA_GROUP")
        if entries is not None:
            groups.append(NexthopGroup(number, _members(bytes(entries)), _resilience(message), protocol))
        elif message.get_attr("NHA_BLACKHOLE") and int(message["family"]) in VERSIONS:
            singles.append(Nexthop(number, Hop(VERSIONS[int(message["family"])], ""), protocol))
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
        entries += [route_of(data, version) for data in connection.dump_bytes(asked, RTM_GETROUTE)]
    return [route for route in entries if protocol in (0, route.protocol)]


def route_of(data: bytes, version: int) -> Route:
    """A route from its message; by hand, for a router has hundreds of thousands of them."""
    _, length, _, _, table, protocol, *_ = ROUTE.unpack_from(data, HEADER.size)
    destination, metric, nexthop_id = bytes(4 if version == 4 else 16), 0, 0
    for kind, value in attributes(data, HEADER.size + ROUTE.size):
        if kind == RTA_DST:
            destination = value
        elif kind == RTA_TABLE:
            table = int.from_bytes(value, "little")
        elif kind == RTA_PRIORITY:
            metric = int.from_bytes(value, "little")
        elif kind == RTA_NH_ID:
            nexthop_id = int.from_bytes(value, "little")
    return Route(prefix_of(destination, length), table, metric, nexthop_id, protocol)


def rules(connection: Connection) -> list[Rule]:
    """The rules that lead to a table, in the order in which the kernel goes by them."""
    entries = []
    for version, family in FAMILIES.items():
        asked = fibmsg()
        asked["family"] = family
        for message in connection.dump(asked, RTM_GETRULE):
            if int(message["family"]) == family and int(message["action"]) == FR_ACT_TO_TBL:
                table = int(message.get_attr("FRA_TABLE") or message["table"])
                entries.append(Rule(version, int(message.get_attr("FRA_PRIORITY") or 0), table))
    return sorted(entries, key=lambda rule: (rule.version, rule.priority))


def neighbours(connection: Connection) -> dict[tuple[int, Address], int]:
    """The state of each neighbour that the kernel knows (`NUD_...`), by the number of its device and its address."""
    states = {}
    for message in connection.dump(ndmsg(), RTM_GETNEIGH):
        address = message.get_attr("NDA_DST")
        if address is not None and int(message["family"]) in VERSIONS:
            states[int(message["ifindex"]), ip_address(address)] = int(message["state"])
    return states


def ask_neighbour(connection: Connection, device: Device, address: Address) -> None:
    """Has the kernel ask a neighbour for its link address, as a packet to it would (`NTF_USE`)."""
    message = ndmsg()
    message["family"], message["ifindex"], message["flags"] = FAMILIES[address.version], device.index, NTF_USE
    message["attrs"] = [("NDA_DST", str(address))]
    connection.request(message, RTM_NEWNEIGH, CREATE | REPLACE)


def buckets(connection: Connection, group_id: int) -> list[int]:
    """The nexthop of each bucket of a resilient group."""
    asked = nhmsg()
    asked["attrs"] = [("NHA_ID", group_id)]
    owners = dict(_bucket(data) for data in connection.dump_bytes(asked, RTM_GETNEXTHOPBUCKET))
    return [owners[index] for index in sorted(owners)]


def _bucket(data: bytes) -> tuple[int, int]:
    """A bucket's number and its nexthop's, from its message; by hand, for a group has hundreds of them."""
    (bucket,) = (value for kind, value in attributes(data, HEADER.size + NEXTHOP_BYTES) if kind == NHA_RES_BUCKET)
    of = {kind: int.from_bytes(value, "little") for kind, value in attributes(bucket, 0)}
    return of[BUCKET_INDEX], of[BUCKET_NEXTHOP]


def unbalanced_s(connection: Connection, group_id: int) -> float:
    """Time for which a resilient group has not had the buckets that its weights ask for, in seconds; 0 if it has."""
    for message in connection.dump(nhmsg(), RTM_GETNEXTHOP):
        settings = message.get_attr("NHA_RES_GROUP")
        if int(message.get_attr("NHA_ID")) == group_id and settings is not None:
            # In ticks of clock_t, of which user space sees a hundred in a second.
            return int(settings.get_attr("NHA_RES_GROUP_UNBALANCED_TIME") or 0) / 100
    return 0.0


def group_packets(connection: Connection) -> dict[int, dict[int, int]]:
    """Packets that each group has sent to each of its nexthops since it was last written, by their numbers.

    Empty before Linux 6.9, which does not count them.
    """
    asked = nhmsg()
    asked["attrs"] = [("NHA_OP_FLAGS", DUMP_STATS)]
    try:
        answers = connection.dump_bytes(asked, RTM_GETNEXTHOP)
    except KernelRefusedError as refused:
        if refused.code != errno.EINVAL:
            raise
        return {}
    packets: dict[int, dict[int, int]] = {}
    for data in answers:
        values = dict(attributes(data, HEADER.size + NEXTHOP_BYTES))
        if NHA_GROUP_STATS in values:
            members = [dict(attributes(entry, 0)) for _, entry in attributes(values[NHA_GROUP_STATS], 0)]
            counts = packets[int.from_bytes(values[NHA_ID], "little")] = {}
            for member in members:
                number = int.from_bytes(member[STATS_ID], "little")
                counts[number] = counts.get(number, 0) + int.from_bytes(member[STATS_PACKETS], "little")
    return packets


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


def put_nexthop(connection: Connection, nexthop: Nexthop, device: Device | None) -> None:
    """Creates or replaces a nexthop; one that drops has no device.

    Raises:
        KernelRefusedError: among others, the device is down or has no carrier.

    """
    message = nhmsg()
    message["family"], message["protocol"] = FAMILIES[nexthop.hop.version], nexthop.protocol
    attributes: list[tuple[str, Any]] = [("NHA_ID", nexthop.nexthop_id)]
    attributes.append(("NHA_BLACKHOLE", True) if device is None else ("NHA_OIF", device.index))
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
