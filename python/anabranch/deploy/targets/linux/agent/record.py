"""Values of a routing kernel as JSON, and back: everything that comes is checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from anabranch.deploy.netlink.nexthop import Device, Hop, Nexthop, NexthopGroup, Resilience, Route
from anabranch.deploy.openflow.port import PortCounters
from anabranch.deploy.targets.linux.agent.framing import MessageError
from anabranch.deploy.targets.linux.observe import PER_OWNER, PROTOCOL, LinuxState, first_number

U8, U16, U32, U63 = ((1 << bits) - 1 for bits in (8, 16, 32, 63))
NAME_MAX, ALIAS_MAX = 15, 255
"""Characters of a device's name and alias that the kernel keeps (IFNAMSIZ, IFALIASZ)."""


def hops_record(hops: Iterable[Hop]) -> list[Any]:
    """Hops as rows, in one order."""
    return sorted(_hop_row(hop) for hop in hops)


def read_hops(given: object) -> frozenset[Hop]:
    """Hops of rows.

    Raises:
        MessageError: they are none.

    """
    return frozenset(_hop(row) for row in rows(given, "hops", 3))


def state_record(state: LinuxState) -> dict[str, Any]:
    """An owner's part of a kernel."""
    return {
        "nexthops": [[number, *_hop_row(one.hop)] for number, one in state.nexthops.items()],
        "groups": [
            [number, [list(member) for member in one.members], _resilience_row(one.resilience)]
            for number, one in state.groups.items()
        ],
        "routes": [[str(one.prefix), one.table, one.metric, one.nexthop_id] for one in state.routes.values()],
    }


def read_state(given: object, owner: int, *, whole: bool) -> LinuxState:
    """An owner's part of a kernel.

    Args:
        given: what `state_record` wrote.
        owner: the owner whose numbers it must have.
        whole: whether all that members and routes name must be in it.

    Raises:
        MessageError: it is none, or somebody else's.

    """
    fields = mapping(given, "state")
    first = first_number(owner)

    def number(value: object) -> int:
        return integer(value, f"number of owner {owner}", first, first + PER_OWNER - 1)

    nexthops = {}
    for number_, *row in rows(fields.get("nexthops"), "nexthops", 4):
        nexthops[number(number_)] = Nexthop(number_, _hop(row), PROTOCOL)
    groups = {}
    for number_, given_members, resilience in rows(fields.get("groups"), "groups", 3):
        members = tuple((number(m), integer(w, "weight", 1, U16)) for m, w in rows(given_members, "members", 2))
        groups[number(number_)] = NexthopGroup(number_, members, _resilience(resilience), PROTOCOL)
    routes = {}
    for prefix, table, metric, to in rows(fields.get("routes"), "routes", 4):
        try:
            network = ip_network(text(prefix, "prefix", 64))
        except ValueError as error:
            raise MessageError(f"route: {error}") from None
        numbers = integer(table, "table", 1, U32), integer(metric, "metric", 0, U32)
        route = Route(network, *numbers, number(to), PROTOCOL)
        routes[route.key] = route
    if whole:
        used = {member for group in groups.values() for member, _ in group.members} - nexthops.keys()
        used |= {route.nexthop_id for route in routes.values()} - nexthops.keys() - groups.keys()
        if used or any(not group.members for group in groups.values()) or groups.keys() & nexthops.keys():
            raise MessageError("state: a group or route leads to what is not in it")
    return LinuxState(nexthops, groups, routes)


def devices_record(devices: Mapping[str, Device], names: Collection[str]) -> list[Any]:
    """Devices of these names that exist."""
    known = (devices[name] for name in names if name in devices)
    return [[one.index, one.name, one.up, one.carrier, one.alias] for one in known]


def read_devices(given: object) -> dict[str, Device]:
    """Devices by name.

    Raises:
        MessageError: they are none.

    """
    devices = {}
    for index, name, up, carrier, alias in rows(given, "links", 5):
        if not isinstance(up, bool) or not isinstance(carrier, bool):
            raise MessageError("links: neither true nor false")
        number = integer(index, "number of a device", 0, U32)
        devices[name] = Device(number, text(name, "device", NAME_MAX), up, carrier, text(alias, "alias", ALIAS_MAX))
    return devices


def counters_record(counters: Mapping[str, PortCounters]) -> dict[str, list[int]]:
    """Counters by device, in the order of `PortCounters`, without the number."""
    return {name: list(vars(one).values())[1:] for name, one in counters.items()}


def read_counters(given: object) -> dict[str, PortCounters]:
    """Counters by device.

    Raises:
        MessageError: they are none.

    """
    counters = {}
    for name, row in mapping(given, "counters").items():
        (numbers,) = rows([row], "counters", 6)
        counters[name] = PortCounters(0, *(integer(one, "counter", 0, 2 * U63 + 1) for one in numbers))
    return counters


def packets_record(packets: Mapping[int, Mapping[int, int]]) -> list[Any]:
    """Packets by group and nexthop, as rows."""
    return [[group, nexthop, count] for group, counts in packets.items() for nexthop, count in counts.items()]


def read_packets(given: object) -> dict[int, dict[int, int]]:
    """Packets by group and nexthop.

    Raises:
        MessageError: they are none.

    """
    packets: dict[int, dict[int, int]] = {}
    for group, nexthop, count in rows(given, "packets", 3):
        numbers = integer(group, "group", 1, U32), integer(nexthop, "nexthop", 1, U32)
        packets.setdefault(numbers[0], {})[numbers[1]] = integer(count, "packets", 0, 2 * U63 + 1)
    return packets


def read_speeds(given: object) -> dict[str, int]:
    """Speeds in bit/s by device.

    Raises:
        MessageError: they are none.

    """
    return {name: integer(one, "speed", 0, U63) for name, one in mapping(given, "speeds").items()}


def names_of(given: object, what: str) -> list[str]:
    """Names of devices.

    Raises:
        MessageError: they are none.

    """
    if not isinstance(given, list):
        raise MessageError(f"{what}: no list")
    return [text(one, what, NAME_MAX) for one in given]


def rows(given: object, what: str, length: int) -> list[Sequence[Any]]:
    """A list of lists of one length.

    Raises:
        MessageError: it is none.

    """
    if not isinstance(given, list) or any(not isinstance(row, list) or len(row) != length for row in given):
        raise MessageError(f"{what}: no list of rows of {length}")
    return given


def mapping(given: object, what: str) -> Mapping[str, Any]:
    """An object.

    Raises:
        MessageError: it is none.

    """
    if not isinstance(given, dict):
        raise MessageError(f"{what}: no object")
    return given


def integer(given: object, what: str, least: int, most: int) -> int:
    """A whole number within bounds.

    Raises:
        MessageError: it is none.

    """
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise MessageError(f"{what}: {str(given)[:20]!r}: not from {least} to {most}")
    return given


def text(given: object, what: str, most: int) -> str:
    """A text of a bounded length.

    Raises:
        MessageError: it is none.

    """
    if not isinstance(given, str) or len(given) > most:
        raise MessageError(f"{what}: {str(given)[:20]!r}: no text of up to {most} characters")
    return given


def _hop_row(hop: Hop) -> list[Any]:
    return [hop.version, hop.device, "" if hop.gateway is None else str(hop.gateway)]


def _hop(row: Sequence[Any]) -> Hop:
    version, device, gateway = row
    if integer(version, "version", 4, 6) not in (4, 6):
        raise MessageError("hop: version 5: neither 4 nor 6")
    name, address = text(device, "device", NAME_MAX), text(gateway, "gateway", 64)
    try:
        return Hop(version, name, ip_address(address) if address else None)
    except ValueError as error:
        raise MessageError(f"hop: {error}") from None


def _resilience_row(resilience: Resilience | None) -> list[int] | None:
    return None if resilience is None else list(vars(resilience).values())


def _resilience(given: object) -> Resilience | None:
    if given is None:
        return None
    ((buckets, idle, unbalanced),) = rows([given], "resilience", 3)
    timers = integer(idle, "idle timer", 0, U32), integer(unbalanced, "unbalanced timer", 0, U32)
    return Resilience(integer(buckets, "buckets", 1, U16), *timers)
