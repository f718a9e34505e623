"""Links of the file on the cables that are heard: what a fabric is planned as when it is wired otherwise than written.

A cable takes the name and the rate of a link that the file has between the same two switches: its own where it is where
it should be, else one that no other cable has. So every cable that is used joins two tiers as the file joins them, and
shortest paths stay what they are. A cable between two switches that the file does not join, or joins by fewer links, is
not used; a link without a cable is down. A port of which nothing is known keeps the file's cable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.deploy.control.cable import MISWIRED, WRONG
from anabranch.deploy.control.topology import Topology


@dataclass(frozen=True)
class Placement:
    """Where the links of the file are."""

    at: tuple[int, ...]
    """The port that each port of the file is at: another one of the same switch, or itself."""
    absent: frozenset[int]
    """Numbers of links that no cable is for."""
    unused: tuple[tuple[int, int], ...] = ()
    """Ports of cables that no link of the file is for."""


def as_written(topology: Topology) -> Placement:
    """Every link at its own ports."""
    return Placement(tuple(range(len(topology.ends))), frozenset())


def placement(topology: Topology, verdicts: Mapping[int, str], neighbours: Mapping[int, int]) -> Placement:
    """Links of the file on the cables that are heard.

    Args:
        topology: the fabric as built.
        verdicts: verdict on each port between switches (`cable`).
        neighbours: the port that each port hears, where it is one alone.

    """
    cables = _cables(topology, verdicts, neighbours)
    at: dict[int, int] = {}
    links = {frozenset(ports): ports for ports in topology.links}
    others = []
    for cable in cables:
        if frozenset(cable) in links:
            at |= {port: port for port in cable}
        else:
            others.append(cable)
    unused = []
    for cable in others:
        ends = tuple(topology.ends[port].node for port in cable)
        free = next((ports for ports in topology.links if ports[0] not in at and _joins(topology, ports, ends)), None)
        if free is None:
            unused.append(cable)
        else:
            first, second = free if topology.ends[free[0]].node == ends[0] else free[::-1]
            at |= {first: cable[0], second: cable[1]}
    absent = frozenset(index for index, ports in enumerate(topology.links) if ports[0] not in at)
    return Placement(_completed(topology, at), absent, tuple(unused))


def _cables(topology: Topology, verdicts: Mapping[int, str], neighbours: Mapping[int, int]) -> list[tuple[int, int]]:
    """Both ports of every cable. A port is at one cable: where several lead, none is taken."""
    heard = {
        (min(port, other), max(port, other))
        for port, other in neighbours.items()
        # The other end need not hear; it must not hear somebody else.
        if port != other and (neighbours.get(other, port) == port) and not _hears_others(other, verdicts, neighbours)
    }
    taken = Counter(port for cable in heard for port in cable)
    cables = [cable for cable in sorted(heard) if all(taken[port] == 1 for port in cable)]
    known = {port for cable in heard for port in cable}
    unknown = (ports for ports in topology.links if known.isdisjoint(ports))
    return cables + [ports for ports in unknown if not any(verdicts.get(port) in WRONG for port in ports)]


def _hears_others(port: int, verdicts: Mapping[int, str], neighbours: Mapping[int, int]) -> bool:
    """Whether a port hears a stranger, or several ports."""
    return port not in neighbours and verdicts.get(port) == MISWIRED


def _joins(topology: Topology, ports: tuple[int, int], ends: tuple[str, ...]) -> bool:
    return {topology.ends[port].node for port in ports} == set(ends)


def _completed(topology: Topology, at: Mapping[int, int]) -> tuple[int, ...]:
    """Every port somewhere: those that have no cable at ports of their switch that are left, their own first."""
    left = set(range(len(topology.ends))) - set(at.values())
    complete = dict(at)
    for port in range(len(topology.ends)):
        if port not in complete and port in left:
            complete[port] = port
            left.discard(port)
    for ports in topology.ports_of.values():
        lacking, free = (port for port in ports if port not in complete), (port for port in ports if port in left)
        complete |= dict(zip(lacking, list(free), strict=True))
    return tuple(complete[port] for port in range(len(topology.ends)))
