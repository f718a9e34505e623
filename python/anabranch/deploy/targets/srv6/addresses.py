"""Addresses of a fabric that explicit paths lead through: identifiers of switches, links, hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network

from anabranch.deploy.control.file import interfaces
from anabranch.deploy.control.topology import End, Topology
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml

BLOCK = IPv6Network("fcbb:bb00::/32")
"""Block of all compressed segments (RFC 9800): 32 bits, then 16 of each segment."""
DECAPSULATE = 0xFE06
"""Local segment of a leaf that takes the outer header off."""
SWITCHES_MAX = 0xDFFF
"""Most switches: segments from 0xe000 on are local by convention."""
HOSTS = IPv6Network("fd00::/32")
LINKS = IPv6Network("fd00:1::/32")
WITHIN_HOSTS = ("nic", "server")
"""Tiers of what stands within hosts of several links, and is no switch that has a segment."""
ETHERNET_STEP = 4
"""SONiC names ports by their first lane: Ethernet0, Ethernet4, and so on, where ports have four."""


@dataclass(frozen=True)
class Addresses:
    """Identifiers and addresses of all nodes."""

    topology: Topology
    identifier: Mapping[str, int]
    """Of each switch, from 1."""
    link: Mapping[End, int]
    """Number of the link of each port, the same at both ends."""
    given: Mapping[End, str]
    """Interfaces of the fabric's file."""

    def locator(self, switch: str) -> IPv6Network:
        """The prefix of a switch's own segment (uN)."""
        return IPv6Network((int(BLOCK.network_address) | self.identifier[switch] << 80, 48))

    def decapsulation(self, leaf: str) -> IPv6Network:
        """The prefix of the segment by which a leaf takes the outer header off."""
        return IPv6Network((int(self.locator(leaf).network_address) | DECAPSULATE << 64, 64))

    def on_link(self, end: End) -> IPv6Address:
        """The address of a port."""
        reverse = self.topology.ends[self.topology.reverse[self.topology.port[end]]]
        is_first = self.topology.port[end] < self.topology.port[reverse]
        return LINKS[(self.link[end] << 64) + (1 if is_first else 2)]

    def across(self, end: End) -> IPv6Address:
        """The address at the other end of a port's link."""
        return self.on_link(self.topology.ends[self.topology.reverse[self.topology.port[end]]])

    def behind(self, leaf: str) -> IPv6Network:
        """The prefix of all hosts of a leaf."""
        return IPv6Network((int(HOSTS.network_address) | self.identifier[leaf] << 64, 64))

    def host(self, host: str) -> IPv6Address:
        """The address of a host."""
        leaf = leaf_of(self.topology, host)
        at_leaf = [end.neighbour for end in ends_of(self.topology, leaf) if self.topology.is_host(end.neighbour)]
        return self.behind(leaf)[at_leaf.index(host) + 1]

    def device(self, end: End) -> str:
        """The interface of Linux towards a neighbour: that of the fabric's file, or the neighbour's name."""
        return self.given.get(end, end.neighbour)

    def ethernet(self, end: End) -> str:
        """The port of SONiC towards a neighbour: that of the fabric's file, or Ethernet0, Ethernet4, ... in turn."""
        number = ends_of(self.topology, end.node).index(end)
        return self.given.get(end, f"Ethernet{ETHERNET_STEP * number}")


def ends_of(topology: Topology, node: str) -> list[End]:
    """The ports of a node, ascending."""
    return [topology.ends[port] for port in topology.ports_of[node]]


def leaf_of(topology: Topology, host: str) -> str:
    """The switch that a host hangs on."""
    return topology.ends[topology.leaf_of[host][0]].node


def read(text: str, file: str, topology: Topology) -> Addresses:
    """Numbers the nodes and links of a fabric, with the interfaces in the table `switch` of its file.

    Raises:
        AnabranchError: more switches than segments, hosts of several links, or wrong names of interfaces.

    """
    if len(topology.switches) > SWITCHES_MAX:
        problem = f"{len(topology.switches)} switches, and segments tell {SWITCHES_MAX} apart"
        raise AnabranchError(f"{file}: fabric: {problem}; write a part of the fabric")
    inner = next((node.name for node in topology.nodes if node.tier in WITHIN_HOSTS), None)
    if inner is not None:
        raise AnabranchError(f"{file}: fabric: {inner} joins several links of a host; give each host one link")
    given: dict[End, str] = {}
    named = Settings(file, "", parse_toml(text, file)).table("switch")
    for switch in topology.switches:
        if switch in named:
            given |= interfaces(named.table(switch).table("ports"), switch, topology)
    link = {topology.ends[port]: number for number, pair in enumerate(topology.links, 1) for port in pair}
    return Addresses(topology, {name: number for number, name in enumerate(topology.switches, 1)}, link, given)
