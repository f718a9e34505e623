"""Numbers of shortest paths between the leaves of a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

Links = dict[int, dict[tuple[int, int], int]]
"""Number of parallel links from a switch, by the switch at the other end and the cost of each."""


def path_counts(topology: Mapping[str, Any]) -> dict[tuple[int, int], tuple[int, int]]:
    """Number of links and of shortest paths between every ordered pair of leaves (switches with hosts).

    Parallel links count as paths of their own. Every link is considered up; pairs without a path are left out. Shortest
    are the paths of least cost, of which a link has 1 where the topology does not say another; none leads through a
    network card.
    """
    hosts, ports, tier = int(topology["hosts"]), topology["ports"], topology["nodes"]["tier"]
    costs = ports.get("cost") or [1] * len(ports["from"])
    links: Links = {}
    leaves = set()
    for source, target, cost in zip(ports["from"], ports["to"], costs, strict=True):
        if source < hosts:
            leaves.add(int(target))
        elif target >= hosts:
            of_source = links.setdefault(int(source), {})
            of_source[int(target), int(cost)] = of_source.get((int(target), int(cost)), 0) + 1
    counts = {}
    for leaf in sorted(leaves):
        for node, (number, paths) in _from(leaf, links, tier).items():
            if node in leaves and node != leaf:
                counts[leaf, node] = (number, paths)
    return counts


def _from(leaf: int, links: Links, tier: list[str]) -> dict[int, tuple[int, int]]:
    """Searches cheapest first (Dijkstra 1959): links and number of shortest paths of every node that can be reached."""
    best = {leaf: 0}
    reached = {leaf: (0, 1)}
    done = set()
    waiting = [(0, leaf)]
    while waiting:
        cost, node = heappop(waiting)
        if node in done:
            continue
        done.add(node)
        if tier[node] == "nic" and node != leaf:
            continue
        number, paths = reached[node]
        for (neighbour, own), parallel in links.get(node, {}).items():
            total = cost + own
            if total < best.get(neighbour, total + 1):
                best[neighbour] = total
                reached[neighbour] = (number + 1, 0)
                heappush(waiting, (total, neighbour))
            if total == best[neighbour]:
                longest, before = reached[neighbour]
                reached[neighbour] = (max(longest, number + 1), before + paths * parallel)
    return reached
