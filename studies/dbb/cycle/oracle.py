"""Dispatching cycles as the paper's text has them: which packets of a cycle may go where, and how many over each link.

Written from sections III-A to III-D alone. The maximum flow is SciPy's, and nothing here is anabranch's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog

Link = tuple[str, str]
Path = tuple[str, ...]
"""Switches of a packet, from the source to the sink."""

TABLE_4: tuple[Path, ...] = (
    ("S1", "S2", "S4", "S6"),
    ("S1", "S3", "S5", "S6"),
    ("S1", "S3", "S5", "S6"),
    ("S1", "S3", "S4", "S6"),
    ("S1", "S3", "S5", "S6"),
    ("S1", "S2", "S5", "S6"),
    ("S1", "S3", "S4", "S6"),
    ("S1", "S3", "S5", "S6"),
    ("S1", "S3", "S4", "S6"),
    ("S1", "S3", "S5", "S6"),
)
"""The ten packets of the cycle of Fig. 5, as printed."""


@dataclass(frozen=True)
class Cycle:
    """A network-wide dispatching cycle."""

    packets: int
    """N of Eq. 1."""
    quotas: Mapping[Link, int]
    """N_ij of Eq. 2: packets of the cycle for each link."""

    def quota(self, switch: str) -> int:
        """Q(k) of Eq. 3."""
        return sum(packets for (_, to), packets in self.quotas.items() if to == switch)

    def out_of_turn(self, paths: Sequence[Path]) -> int:
        """Packets that take a next hop which does not have the highest R to Q ratio.

        Args:
            paths: Packets of one cycle in their order, or of its beginning.

        """
        left = {switch: self.quota(switch) for _, switch in self.quotas}
        on_link = dict(self.quotas)
        wrong = 0
        for path in paths:
            steps = list(pairwise(path))
            wrong += not all(to in _highest(at, on_link, left, self) for at, to in steps)
            for at, to in steps:
                on_link[at, to] = on_link.get((at, to), 0) - 1
                left[to] = left.get(to, 0) - 1
        return wrong

    def beyond_quota(self, paths: Sequence[Path]) -> int:
        """Packets of a whole cycle that links carry beyond their N_ij."""
        carried: dict[Link, int] = {}
        for path in paths:
            for step in pairwise(path):
                carried[step] = carried.get(step, 0) + 1
        return sum(max(0, packets - self.quotas.get(link, 0)) for link, packets in carried.items())


def _highest(at: str, on_link: Mapping[Link, int], left: Mapping[str, int], cycle: Cycle) -> set[str]:
    """Next hops of a switch with the highest R to Q ratio, of those whose link has packets of its N_ij left.

    The paper breaks ties arbitrarily, so that all of them are right.
    """
    ratios = {
        to: Fraction(left[to], cycle.quota(to))
        for (switch, to), packets in on_link.items()
        if switch == at and packets > 0
    }
    return {to for to, ratio in ratios.items() if ratio == max(ratios.values())}


def cycle_of(flow: Mapping[Link, int], source: str) -> Cycle:
    """Simple integer ratios of each stage, their least common multiple, and the quota of each link (section III-B, C).

    Args:
        flow: Exploitable bandwidth of each link, above zero.
        source: Switch of stage 1.

    """
    stages: list[list[Link]] = []
    switches = {source}
    while links := [link for link in flow if link[0] in switches]:
        stages.append(links)
        switches = {to for _, to in links}
    sums, ratios = [], {}
    for links in stages:
        divisor = math.gcd(*(flow[link] for link in links))
        ratios.update({link: flow[link] // divisor for link in links})
        sums.append(sum(ratios[link] for link in links))
    packets = math.lcm(*sums)
    quotas = {
        link: ratios[link] * packets // total for links, total in zip(stages, sums, strict=True) for link in links
    }
    return Cycle(packets, quotas)


def counted(paths: Sequence[Path]) -> Cycle:
    """The cycle of a printed table: as many packets over each link as its rows have."""
    quotas: dict[Link, int] = {}
    for path in paths:
        for step in pairwise(path):
            quotas[step] = quotas.get(step, 0) + 1
    return Cycle(len(paths), quotas)


def exploitable(rates: Mapping[Link, int], source: str, sink: str) -> dict[Link, int] | None:
    """The maximum flow, link by link; None where there are several, between which the paper does not choose.

    A linear programme finds its value (section III-A); two more for each link find the least and the most that any flow
    of this value sends over it.
    """
    links = list(rates)
    inner = sorted({switch for link in links for switch in link} - {source, sink})
    conserved = np.array([[(to == at) - (start == at) for start, to in links] for at in inner], float)
    out = np.array([[float(start == source) for start, _ in links]])
    bounds = [(0.0, float(rates[link])) for link in links]
    value = -linprog(-out[0], A_eq=conserved, b_eq=np.zeros(len(inner)), bounds=bounds).fun
    whole = np.vstack([conserved, out]), np.append(np.zeros(len(inner)), value)
    flow = {}
    for number, link in enumerate(links):
        one = np.eye(len(links))[number]
        least, most = (sign * linprog(sign * one, A_eq=whole[0], b_eq=whole[1], bounds=bounds).fun for sign in (1, -1))
        if most - least > 1e-6:
            return None
        # Whole rates have a maximum flow in whole numbers, and there is only one.
        flow[link] = round(least)
    return {link: units for link, units in flow.items() if units}
