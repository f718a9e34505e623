"""Objects of a kernel as values that can be compared: devices, nexthops, groups of them, and routes."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Prefix = IPv4Network | IPv6Network
MPATH, RESILIENT = "mpath", "resilient"
"""Kinds of groups: hash-threshold and resilient (`ip-nexthop(8)`)."""


@dataclass(frozen=True)
class Device:
    """A network device."""

    index: int
    name: str
    up: bool
    """Whether it is up administratively."""
    carrier: bool
    alias: str = ""
    """Text that its operator gave it (`ip link set alias`)."""


@dataclass(frozen=True)
class Hop:
    """Next hop of packets, without the number that the kernel gives it."""

    version: int
    """IP version: 4 or 6."""
    device: str
    """Empty for none: what is sent there is dropped."""
    gateway: Address | None = None

    @property
    def drops(self) -> bool:
        """Whether packets end here (a blackhole)."""
        return not self.device

    def __str__(self) -> str:
        if self.drops:
            return "blackhole"
        return self.device if self.gateway is None else f"{self.gateway} on {self.device}"


@dataclass(frozen=True)
class Nexthop:
    """A next hop and its number."""

    nexthop_id: int
    hop: Hop
    protocol: int
    """Protocol that created it (rtnetlink's numbers)."""


@dataclass(frozen=True)
class Resilience:
    """Settings of a resilient group; times in hundredths of a second, as the kernel has them."""

    buckets: int
    idle_timer_cs: int
    unbalanced_timer_cs: int


@dataclass(frozen=True)
class NexthopGroup:
    """A group and its members."""

    group_id: int
    members: tuple[tuple[int, int], ...]
    """(nexthop, weight from 1 to 65535)."""
    resilience: Resilience | None
    """Settings of a resilient group; None for hash-threshold."""
    protocol: int

    @property
    def kind(self) -> str:
        """`mpath` or `resilient`."""
        return MPATH if self.resilience is None else RESILIENT


@dataclass(frozen=True)
class Route:
    """A route by a nexthop object; `nexthop_id` 0 for every other kind, which is never ours."""

    prefix: Prefix
    table: int
    metric: int
    nexthop_id: int
    protocol: int

    @property
    def key(self) -> tuple[Prefix, int, int]:
        """Fields by which the kernel recognises a route."""
        return self.prefix, self.table, self.metric

    def __str__(self) -> str:
        return f"{self.prefix} table {self.table} metric {self.metric}"


def address_of(packed: bytes) -> Address:
    """Converts an address from the bytes on the wire."""
    return ip_address(packed)


def prefix_of(packed: bytes, length: int) -> Prefix:
    """Converts a prefix from the bytes on the wire."""
    return ip_network((packed, length))


@dataclass(frozen=True)
class Rule:
    """A rule of routing: packets that it is for are looked up in a table (`ip-rule(8)`)."""

    version: int
    priority: int
    table: int
