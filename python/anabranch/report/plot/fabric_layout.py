"""Positions of a fabric's switches on paper."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.report.plot.fabric_boxes import Box, Layout
from anabranch.report.plot.fabric_ring import is_ring, ring
from anabranch.simulate.stats.tiers import TIERS

PODS_DRAWN = 4
"""Largest number of pods of a fabric that is drawn whole."""
PODS_OPEN = 2
"""Number of pods that are drawn switch by switch if there are more; pods with changes are drawn in addition."""
PODS_OPEN_MAX = 4

POD_GAP, CLOSED_WIDTH = 0.8, 1.5
"""Widths in units of a switch of the lowest row."""


def layout(topology: Mapping[str, Any]) -> Layout:
    """Lays out rows by tier, pods side by side, the top row spread over the whole width.

    Groups of routers that are linked with each other stand in a ring.
    """
    if is_ring(topology):
        return ring(topology)
    names, tier, pod = (topology["nodes"][key] for key in ("name", "tier", "pod"))
    switches = range(int(topology["hosts"]), len(names))
    drawn = Layout(tiers=[name for name in TIERS[1:] if any(tier[node] == name for node in switches)])
    top = drawn.tiers[-1]
    podded = any(pod[node] is not None for node in switches)
    groups: dict[Any, list[int]] = defaultdict(list)
    for node in switches:
        if tier[node] != top or len(drawn.tiers) == 1:
            groups[pod[node] if podded else None].append(node)
    open_pods = _open_pods(topology, list(groups))
    x = 0.0
    for key, nodes in groups.items():
        if key in open_pods:
            x = _open_pod(drawn, nodes, names, tier, x)
        else:
            closed = Box(x + CLOSED_WIDTH / 2, 0, str(key), tuple(nodes), CLOSED_WIDTH * 0.8, len(drawn.tiers) - 1)
            drawn.add(closed)
            x += CLOSED_WIDTH
        x += POD_GAP if podded else 0.0
    top_nodes = [node for node in switches if tier[node] == top] if len(drawn.tiers) > 1 else []
    drawn.height = len(drawn.tiers) - 1
    drawn.columns = max(x - (POD_GAP if podded else 0.0), float(len(top_nodes)) * 0.6)
    _row(drawn, top_nodes, names, len(drawn.tiers) - 1, 0.0, drawn.columns)
    _place_hosts(drawn, topology)
    return drawn


def _place_hosts(drawn: Layout, topology: Mapping[str, Any]) -> None:
    """Hosts below the box of their switch; accelerators below their server, with their network cards in its box."""
    ports, hosts = topology["ports"], int(topology["hosts"])
    named = int(topology.get("named_hosts", hosts))
    accelerators = topology.get("accelerators", range(named))
    for host, switch in zip(ports["from"], ports["to"], strict=True):
        if named <= host < hosts:
            drawn.box_of[accelerators[host - named]] = drawn.box_of[switch]
    for host, switch in zip(ports["from"], ports["to"], strict=True):
        if host < hosts and host not in drawn.box_of:
            drawn.hosts_of.setdefault(drawn.box_of[switch], []).append(host)


def _open_pods(topology: Mapping[str, Any], pods: Sequence[Any]) -> set[Any]:
    if len(pods) <= PODS_DRAWN:
        return set(pods)
    ports, of_node = topology["ports"], topology["nodes"]["pod"]
    order: list[Any] = []
    for change in topology["changes"]:
        ends = [change["node"]] if change.get("node") is not None else []
        if change.get("port") is not None:
            ends += [ports["from"][change["port"]], ports["to"][change["port"]]]
        order += [of_node[node] for node in ends if of_node[node] is not None]
    ordered = list(dict.fromkeys([*order, *pods[:PODS_OPEN]]))
    return set(ordered[: max(PODS_OPEN, min(len(set(order)), PODS_OPEN_MAX))])


def _open_pod(drawn: Layout, nodes: Sequence[int], names: Sequence[str], tier: Sequence[str], x: float) -> float:
    by_row = [[node for node in nodes if tier[node] == name] for name in drawn.tiers]
    width = float(max(map(len, by_row)))
    for row, members in enumerate(by_row):
        _row(drawn, members, names, row, x, width)
    return x + width


def _row(drawn: Layout, nodes: Sequence[int], names: Sequence[str], row: int, x: float, width: float) -> None:
    """Spreads nodes evenly; a few of them do not reach the edges."""
    if not nodes:
        return
    step = width / len(nodes)
    for index, node in enumerate(nodes):
        drawn.add(Box(x + (index + 0.5) * step, row, _number(names[node]), (node,), min(1.0, step)))


def _number(name: str) -> str:
    """Part of a name that distinguishes a switch from its neighbours: tier and pod are written beside it."""
    digits = re.search(r"(\d+)$", name)
    return digits[1] if digits else name
