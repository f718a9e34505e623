"""Load that a scenario asks of a lab's switches, to compare with their ceiling."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch import _core


def offered_bps(scenario: _core.Scenario, scale: float) -> float:
    """Payload of all hosts, on average over the time in which flows start."""
    rows = [row for row in scenario.offered_load() if str(row["tier"]).startswith("host to")]
    return scale * sum(float(row["offered_bps"]) for row in rows)


def mean_switches(scenario: _core.Scenario) -> float:
    """How many switches a byte passes, on average over the flows."""
    flows, topology = scenario.flows(), scenario.topology()
    bytes_of: Counter[tuple[int, int]] = Counter()
    for source, target, size in zip(*(np.asarray(flows[name]) for name in ("src", "dst", "size_bytes")), strict=True):
        bytes_of[int(source), int(target)] += int(size)
    distances = {source: links_from(topology, source) for source in {source for source, _ in bytes_of}}
    passed = sum((distances[source][target] - 1) * size for (source, target), size in bytes_of.items())
    return passed / max(bytes_of.total(), 1)


def links_from(topology: Mapping[str, Any], source: int) -> dict[int, int]:
    """Links to every node, breadth first."""
    neighbours: dict[int, set[int]] = {}
    for a, b in zip(topology["ports"]["from"], topology["ports"]["to"], strict=True):
        neighbours.setdefault(int(a), set()).add(int(b))
    distances, waiting = {source: 0}, deque([source])
    while waiting:
        node = waiting.popleft()
        for other in neighbours[node] - distances.keys():
            distances[other] = distances[node] + 1
            waiting.append(other)
    return distances
