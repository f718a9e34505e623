"""Next hops by which every host reaches every other over one shortest path, to measure what a path carries."""

from __future__ import annotations

from collections import deque

from anabranch.lab.fabric.blueprint import Blueprint
from anabranch.lab.fabric.topology import Lab


def install(lab: Lab, via: str | None = None) -> None:
    """Gives all switches these next hops.

    Args:
        lab: Whose switches.
        via: A switch that is taken before others where paths are equally short.

    Raises:
        AnabranchError: a switch refuses.

    """
    lab.switching.forward(next_hops(lab.blueprint, via))


def next_hops(blueprint: Blueprint, via: str | None = None) -> dict[str, dict[str, str]]:
    """Device to send by, by switch and prefix; a host's own address is a prefix too."""
    by_switch: dict[str, dict[str, str]] = {switch: {} for switch in blueprint.switches}
    for host in blueprint.hosts.values():
        by_switch[host.leaf][f"{host.address}/32"] = _device(blueprint, host.leaf, host.name)
    for leaf in sorted({host.leaf for host in blueprint.hosts.values()}):
        prefix = blueprint.prefix(leaf)
        for switch, onward in _towards(blueprint, leaf, via).items():
            if prefix:
                by_switch[switch][prefix] = _device(blueprint, switch, onward)
    return by_switch


def _device(blueprint: Blueprint, switch: str, neighbour: str) -> str:
    return next(end.device for end, node in blueprint.ports(switch) if node == neighbour)


def _towards(blueprint: Blueprint, leaf: str, via: str | None) -> dict[str, str]:
    """The next node of each switch but the leaf itself, breadth first from there."""
    next_hop: dict[str, str] = {}
    waiting = deque([leaf])
    while waiting:
        node = waiting.popleft()
        neighbours = [other for _, other in blueprint.ports(node) if other not in blueprint.hosts]
        for other in sorted(set(neighbours), key=lambda name: name != via):
            if other != leaf and other not in next_hop:
                next_hop[other] = node
                waiting.append(other)
    return next_hop
