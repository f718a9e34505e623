"""Numbers of shortest paths between the leaves of a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def path_counts(topology: Mapping[str, Any]) -> dict[tuple[int, int], tuple[int, int]]:
    """Number of links and of shortest paths between every ordered pair of leaves (switches with hosts).

    Parallel links count as paths of their own. Every link is considered up; pairs without a path are left out.
    """
    hosts, ports = int(topology["hosts"]), topology["ports"]
    neighbours: dict[int, dict[int, int]] = {}
    leaves = set()
    for source, target in zip(ports["from"], ports["to"], strict=True):
        if source < hosts:
            leaves.add(int(target))
        elif target >= hosts:
            of_source = neighbours.setdefault(int(source), {})
            of_source[int(target)] = of_source.get(int(target), 0) + 1
    found = {}
    for leaf in sorted(leaves):
        for node, (links, paths) in _from(leaf, neighbours).items():
            if node in leaves and node != leaf:
                found[leaf, node] = (links, paths)
    return found


def _from(leaf: int, neighbours: Mapping[int, Mapping[int, int]]) -> dict[int, tuple[int, int]]:
    """Searches breadth-first: distance and number of shortest paths of every node that can be reached."""
    reached = {leaf: (0, 1)}
    ring = [leaf]
    while ring:
        outer: dict[int, int] = {}
        for node in ring:
            distance, paths = reached[node]
            for neighbour, parallel in neighbours.get(node, {}).items():
                if neighbour not in reached:
                    outer[neighbour] = outer.get(neighbour, 0) + paths * parallel
        reached |= {node: (distance + 1, paths) for node, paths in outer.items()}
        ring = sorted(outer)
    return reached
