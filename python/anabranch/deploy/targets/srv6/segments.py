"""Explicit paths as lists of compressed SRv6 segments."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

from anabranch.deploy.control.topology import Topology
from anabranch.deploy.targets.srv6.addresses import BLOCK, DECAPSULATE, Addresses
from anabranch.files.errors import AnabranchError

SEGMENTS_MAX = 6
"""Segments of 16 bits behind a block of 32 in one address."""


@dataclass(frozen=True)
class SegmentPath:
    """A path of the table, and the destination address that leads along it."""

    source: str
    """Leaf or host that it begins at."""
    destination: str
    path: str
    """Its nodes, as the table has them."""
    first: str
    """The switch behind the first leaf."""
    weight: int
    mark: int
    """Number among the paths of its pair, from 1."""
    segments: IPv6Address


def read(file: str, table: str | None, addresses: Addresses) -> list[SegmentPath]:
    """The paths of a table in the order of their pairs; all shortest ones if there is none.

    Args:
        file: of the fabric; a table's name is relative to its folder.
        table: CSV file of the paths.
        addresses: of the fabric's nodes.

    Raises:
        AnabranchError: a row is no path of the fabric, or none that segments of switches name.

    """
    content = None
    if table is not None:
        try:
            content = (Path(file).parent / table).read_bytes()
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            raise AnabranchError(f"{file}: routing.paths.file: {table}: {problem}; name a file") from None
    topology = addresses.topology
    rows = topology.fabric.explicit_paths(content, table or file)
    marks: dict[tuple[int, int], int] = {}
    paths = []
    for source, destination, ports, weight in rows:
        marks[source, destination] = mark = marks.get((source, destination), 0) + 1
        ends = [topology.ends[port] for port in ports]
        nodes = [ends[0].node, *(end.neighbour for end in ends)]
        first, last = (topology.nodes[node].name for node in (source, destination))
        named = [first, *nodes, last] if topology.is_host(first) else nodes
        path = ">".join(named)
        for end in ends:
            if _links(topology, end.node, end.neighbour) > 1:
                problem = f"{end.node} and {end.neighbour} have parallel links, and a switch's segment names none"
                raise AnabranchError(f"{table or file}: path: {path}: {problem}; give paths that take others")
        if len(nodes) > SEGMENTS_MAX:
            problem = f"{len(nodes)} segments, and an address holds {SEGMENTS_MAX}"
            raise AnabranchError(f"{table or file}: path: {path}: {problem}; give a path of {SEGMENTS_MAX - 1} links")
        segments = [*(addresses.identifier[node] for node in nodes[1:]), DECAPSULATE]
        paths.append(SegmentPath(first, last, path, nodes[1], weight, mark, carrier(segments)))
    return paths


def carrier(segments: list[int]) -> IPv6Address:
    """The address that carries these segments, the first one first."""
    value = int(BLOCK.network_address)
    for number, segment in enumerate(segments, 1):
        value |= segment << (128 - BLOCK.prefixlen - 16 * number)
    return IPv6Address(value)


def _links(topology: Topology, node: str, neighbour: str) -> int:
    return sum(topology.ends[port].neighbour == neighbour for port in topology.ports_of[node])
