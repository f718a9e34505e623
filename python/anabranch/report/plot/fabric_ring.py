"""Positions of groups of routers that are joined all with all: a ring of groups, each a ring of routers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from anabranch.report.plot.fabric_boxes import Box, Layout

ROUTERS_DRAWN = 64
"""Largest number of routers that are drawn one by one; beyond it a group is one box."""
GROUPS_MIN = 3

GAP_COLUMNS, GAP_ROWS = 0.4, 0.3
"""Room between two groups."""
ROUTER_ROWS = 0.28
"""Room from one router to the next above it."""


def is_ring(topology: Mapping[str, Any]) -> bool:
    """Whether a fabric has one tier of switches, in groups that are linked with each other."""
    hosts, nodes = int(topology["hosts"]), topology["nodes"]
    groups = set(nodes["pod"][hosts:])
    return set(nodes["tier"][hosts:]) == {"leaf"} and None not in groups and len(groups) >= GROUPS_MIN


def ring(topology: Mapping[str, Any]) -> Layout:
    """Lays out groups in a ring, clockwise from the top, each with its routers in a ring of its own."""
    hosts, pod, names = int(topology["hosts"]), topology["nodes"]["pod"], topology["nodes"]["name"]
    groups: dict[int, list[int]] = defaultdict(list)
    for router in range(hosts, len(names)):
        groups[pod[router]].append(router)
    whole = len(names) - hosts <= ROUTERS_DRAWN
    inner = _ring(max(map(len, groups.values())) if whole else 1, 1.0, ROUTER_ROWS)
    width, height = 2 * inner[0] + 1 + GAP_COLUMNS, 2 * inner[1] + ROUTER_ROWS + GAP_ROWS
    outer = _ring(len(groups), width, height)
    drawn = Layout(tiers=["leaf"], ring=True, columns=2 * outer[0] + width, height=2 * outer[1] + 2 * inner[1])
    for number, (group, routers) in enumerate(groups.items()):
        x, row = _around(number, len(groups), outer)
        x, row = x + drawn.columns / 2, row + drawn.height / 2
        if not whole:
            drawn.add(Box(x, row, str(group), tuple(routers)))
            continue
        for index, router in enumerate(routers):
            across, up = _around(index, len(routers), inner)
            # Group and router.
            drawn.add(Box(x + across, row + up, names[router].removeprefix("router"), (router,)))
    return drawn


def _ring(number: int, column: float, row: float) -> tuple[float, float]:
    """Half axes of an ellipse on which so many neighbours stand apart."""
    if number == 1:
        return 0.0, 0.0
    chord = 2 * math.sin(math.pi / number)
    return column / chord, row / chord


def _around(index: int, number: int, axes: tuple[float, float]) -> tuple[float, float]:
    # Half a step off, so that an even number has flat sides.
    angle = 2 * math.pi * (index - (number - 1) / 2 % 1) / number
    return axes[0] * math.sin(angle), axes[1] * math.cos(angle)
