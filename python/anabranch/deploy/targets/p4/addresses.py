"""Tables of a fabric's file that name addresses and ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from anabranch.deploy.control.fabric import Network
from anabranch.deploy.control.file import addresses, interfaces, prefixes, refuse_overlaps
from anabranch.deploy.control.topology import End, Topology
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml

PORT_MAX = 510
"""Largest number of a port: v1model has nine bits, and 511 means that a packet is dropped."""


@dataclass(frozen=True)
class Addresses:
    """Where hosts and leaves are."""

    prefixes: Mapping[str, Sequence[IPv4Network]]
    """Prefixes behind each leaf."""
    hosts: Mapping[str, Sequence[IPv4Network]]
    """Prefixes that lead to each host."""
    ports: Mapping[End, int]
    """Number of each port of a switch."""


def read(text: str, file: str, topology: Topology) -> Addresses:
    """Reads the tables `leaf`, `host` and `switch`; others are not looked at.

    Args:
        text: of the fabric's file.
        file: its name, for errors.
        topology: the fabric that it describes.

    Raises:
        AnabranchError: a table is not as it must be, or an address or port is missing that packets need.

    """
    settings = Settings(file, "", parse_toml(text, file))
    behind = prefixes(settings.table("leaf"), topology)
    at = addresses(settings.table("host"), topology)
    refuse_overlaps(file, behind, at)
    named = settings.table("switch")
    ports: dict[End, int] = {}
    for switch in topology.switches:
        ports |= _ports(named, switch, topology)
    leaves = {leaf: _of_leaf(file, leaf, behind) for leaf in topology.leaf_index}
    return Addresses(leaves, _of_hosts(file, topology, leaves, at), ports)


def _ports(named: Settings, switch: str, topology: Topology) -> dict[End, int]:
    """Numbers from 1 in the order of the links, or those of the file."""
    if switch not in named:
        return {topology.ends[port]: number for number, port in enumerate(topology.ports_of[switch], 1)}
    table = named.table(switch).table("ports")
    ports = {}
    for end, text in interfaces(table, switch, topology).items():
        if not text.isdecimal() or not 1 <= int(text) <= PORT_MAX:
            hint = f'no number of a port; give one from 1 to {PORT_MAX}, as in ports = {{ {end.neighbour} = "1" }}'
            table.refuse(end.neighbour, text, hint)
        ports[end] = int(text)
    if len(set(ports.values())) < len(ports):
        raise AnabranchError(f"{table.file}: {table.path}: a number stands there twice; each link has its own port")
    return ports


def _of_leaf(file: str, leaf: str, behind: Mapping[str, Sequence[Network]]) -> list[IPv4Network]:
    if not behind.get(leaf):
        hint = f'give the addresses behind it, as in [leaf.{leaf}] prefixes = ["10.1.0.0/24"]'
        raise AnabranchError(f"{file}: leaf.{leaf}.prefixes: missing; {hint}")
    return _version_4(f"{file}: leaf.{leaf}.prefixes", behind[leaf])


def _of_hosts(
    file: str, topology: Topology, leaves: Mapping[str, list[IPv4Network]], at: Mapping[str, Sequence[Network]]
) -> dict[str, list[IPv4Network]]:
    networks: dict[str, list[IPv4Network]] = {}
    for host, ports in topology.leaf_of.items():
        leaf = topology.ends[ports[0]].node
        if len(ports) > 1:
            raise AnabranchError(f"{file}: fabric: host {host} has {len(ports)} links; the program sends over one")
        alone = sum(topology.is_host(topology.ends[port].neighbour) for port in topology.ports_of[leaf]) == 1
        if host in at:
            networks[host] = _version_4(f"{file}: host.{host}.addresses", at[host])
        elif alone:
            networks[host] = leaves[leaf]
        else:
            hint = f'it is not the only one of {leaf}; write [host.{host}] addresses = ["10.1.0.1"]'
            raise AnabranchError(f"{file}: host.{host}.addresses: missing; {hint}")
    return networks


def _version_4(where: str, networks: Sequence[Network]) -> list[IPv4Network]:
    prefixes = []
    for network in networks:
        if not isinstance(network, IPv4Network):
            raise AnabranchError(f"{where}: {network}: the program reads IPv4 alone; leave it out")
        if not network.prefixlen:
            raise AnabranchError(f"{where}: {network}: all there is; give the addresses that lie there")
        prefixes.append(network)
    return prefixes
