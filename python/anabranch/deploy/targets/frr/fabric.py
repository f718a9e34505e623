"""Routers of a fabric: their numbers, their links, and how they split towards each leaf."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from anabranch import _core
from anabranch.deploy.control.fabric import Network
from anabranch.deploy.control.file import addresses, interfaces, prefixes, refuse_overlaps
from anabranch.deploy.control.rules import Weigher, networks_behind
from anabranch.deploy.control.topology import End, Topology
from anabranch.deploy.targets.frr import bandwidth
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml

AS_FIRST = 4_200_000_000
"""First number of an autonomous system for private use (RFC 6996)."""
ROUTER_IDS = IPv4Address("10.255.0.0")
ROUTERS_MAX = (1 << 16) - 2
WEIGHTS = ("capacity", "equal")
"""Policies whose weights follow from the fabric as built."""
DEVICE = re.compile(r"[A-Za-z0-9_.@:-]{1,15}")
"""Names of devices that FRR reads as one word: at most IFNAMSIZ - 1 characters."""


@dataclass(frozen=True)
class Group:
    """A router's paths towards one leaf."""

    leaf: str
    ends: tuple[End, ...]
    """Ports of the router."""
    weights: tuple[int, ...]
    mbps: tuple[int, ...]
    """Bandwidth that the neighbour behind each port announces; 0: it does not announce the leaf there."""
    installed: tuple[int, ...]
    """Weights that FRR makes of them."""

    @property
    def asked(self) -> list[float]:
        """Share of each path by the weights."""
        return [weight / sum(self.weights) for weight in self.weights]

    @property
    def achieved(self) -> list[float]:
        """Share of each path by what FRR installs."""
        return [weight / sum(self.installed) for weight in self.installed]


@dataclass(frozen=True)
class Routers:
    """Routers of a fabric."""

    topology: Topology
    system: Mapping[str, int]
    """Number of each router's autonomous system."""
    router_id: Mapping[str, IPv4Address]
    device: Mapping[End, str]
    """Device of each port towards another router."""
    networks: Mapping[str, Sequence[Network]]
    """Networks behind each leaf."""
    groups: Mapping[str, Sequence[Group]]
    """Groups of each router, in the order of leaves."""

    def ends(self, router: str) -> list[End]:
        """Ports of a router towards other routers."""
        ends = (self.topology.ends[port] for port in self.topology.ports_of[router])
        return [end for end in ends if not self.topology.is_host(end.neighbour)]

    def announced(self, router: str) -> dict[End, dict[str, int]]:
        """What a router announces by each of its ports: bandwidth in Mbit/s by leaf, 0 where it keeps silent."""
        announced: dict[End, dict[str, int]] = {end: {} for end in self.ends(router)}
        for end, by_leaf in announced.items():
            across = self.topology.ends[self.topology.reverse[self.topology.port[end]]]
            for group in self.groups[across.node]:
                if across in group.ends:
                    by_leaf[group.leaf] = group.mbps[group.ends.index(across)]
        return announced


def read(text: str, file: str) -> Routers:
    """Reads the tables `fabric`, `leaf`, `host` and `switch` and the policy of a fabric's file.

    Raises:
        AnabranchError: bad input, a leaf without a network, or more paths or routers than FRR has room for.

    """
    topology = Topology(_core.Fabric(text, file))
    if len(topology.switches) > ROUTERS_MAX:
        raise AnabranchError(f"{file}: fabric: {len(topology.switches)} routers; at most {ROUTERS_MAX} are numbered")
    settings = Settings(file, "", parse_toml(text, file))
    behind = prefixes(settings.table("leaf"), topology)
    at = addresses(settings.table("host"), topology)
    refuse_overlaps(file, behind, at)
    networks = {leaf: networks_behind(topology, leaf, behind, at) for leaf in topology.leaf_index}
    for leaf, known in networks.items():
        if not known:
            hint = f'give the addresses behind it, as in [leaf.{leaf}] prefixes = ["10.1.0.0/24"]'
            raise AnabranchError(f"{file}: leaf.{leaf}.prefixes: missing; {hint}")
    return Routers(
        topology,
        _systems(topology),
        {name: ROUTER_IDS + number for number, name in enumerate(topology.switches, 1)},
        _devices(settings.table("switch"), topology),
        networks,
        _groups(topology, file, settings),
    )


def _groups(topology: Topology, file: str, settings: Settings) -> dict[str, list[Group]]:
    planning = settings.table("policy")
    policy = planning.take("weights", WEIGHTS[0], lambda given: given if isinstance(given, str) else None, "", "")
    if policy not in WEIGHTS:
        planning.refuse("weights", policy, f"BGP announces what was built; give one of {', '.join(WEIGHTS)}")
    up, rate_bps = [True] * len(topology.ends), topology.rate_bps
    weights = Weigher(topology, by_capacity=policy == WEIGHTS[0]).weigh(up, rate_bps)
    groups: dict[str, list[Group]] = {}
    for router in topology.switches:
        groups[router] = []
        for leaf in topology.leaf_index:
            members = weights.get(router, {}).get(leaf, ())
            if not members:
                continue
            if len(members) > bandwidth.PATHS_MAX:
                problem = f"{len(members)} paths, and FRR takes {bandwidth.PATHS_MAX} (maximum-paths)"
                raise AnabranchError(f"{file}: fabric: {router} to {leaf}: {problem}; write a part of the fabric")
            given = [weight for _, weight in members]
            mbps = bandwidth.announced(given, [rate_bps[port] for port, _ in members])
            ends = tuple(topology.ends[port] for port, _ in members)
            groups[router].append(Group(leaf, ends, tuple(given), tuple(mbps), tuple(bandwidth.predicted(mbps))))
    return groups


def _devices(named: Settings, topology: Topology) -> dict[End, str]:
    """Interfaces of the file, or the names of neighbours."""
    device: dict[End, str] = {}
    for switch in topology.switches:
        ends = [topology.ends[port] for port in topology.ports_of[switch]]
        own = {end: end.neighbour for end in ends}
        if switch in named:
            own = interfaces(named.table(switch).table("ports"), switch, topology)
        own = {end: name for end, name in own.items() if not topology.is_host(end.neighbour)}
        for end, name in own.items():
            hint = f'name the devices, as in [switch.{switch}] ports = {{ {end.neighbour} = "eth1" }}'
            if not DEVICE.fullmatch(name):
                raise AnabranchError(f"{named.file}: switch.{switch}.ports: {name}: no name of a device; {hint}")
            if list(own.values()).count(name) > 1:
                raise AnabranchError(f"{named.file}: switch.{switch}.ports: {name}: several links lead there; {hint}")
        device |= own
    return device


def _systems(topology: Topology) -> dict[str, int]:
    """Autonomous systems as RFC 7938 has them, or one for each router where links join routers of one.

    Each leaf has its own. Of the routers further away from hosts, those that are joined by what is below them have one
    in common: no packet goes down and up again, for a router takes no route with its own number.
    """
    height = _heights(topology)
    links = [
        (topology.ends[port].node, topology.ends[port].neighbour)
        for port, _ in topology.links
        if {topology.ends[port].node, topology.ends[port].neighbour} <= set(topology.switches)
    ]
    part = {router: router for router in topology.switches}

    def root(router: str) -> str:
        while part[router] != router:
            part[router] = part[part[router]]
            router = part[router]
        return router

    group = {router: router for router in topology.switches}
    for level in range(1, max(height.values(), default=0) + 1):
        for one, other in links:
            if max(height[one], height[other]) <= level:
                part[root(one)] = root(other)
        group |= {router: f"{level} {root(router)}" for router in topology.switches if height[router] == level}
    if any(group[one] == group[other] for one, other in links):
        group = {router: router for router in topology.switches}
    number = {name: AS_FIRST + index for index, name in enumerate(dict.fromkeys(group.values()), 1)}
    return {router: number[name] for router, name in group.items()}


def _heights(topology: Topology) -> dict[str, int]:
    """Links from each router to the nearest leaf."""
    height = dict.fromkeys(topology.leaf_index, 0)
    reached: list[str] = list(height)
    for router in reached:
        for port in topology.ports_of[router]:
            neighbour = topology.ends[port].neighbour
            if not topology.is_host(neighbour) and neighbour not in height:
                height[neighbour] = height[router] + 1
                reached.append(neighbour)
    return height | {router: 0 for router in topology.switches if router not in height}
