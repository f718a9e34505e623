"""Fabrics of unequal links: the paper's Fig. 5, and drawn ones that have one maximum flow only."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from anabranch.files.errors import AnabranchError

from .oracle import TABLE_4, Cycle, Link, Path, counted, cycle_of, exploitable

PRINTED, DRAWN = "Fig. 5", "drawn"
PACKETS_MAX = 60
"""Longest cycle of a drawn fabric."""
ATTEMPTS = 10_000


@dataclass(frozen=True)
class Fabric:
    """Switches in stages, and what the paper says of their packets."""

    source: str
    sink: str
    rates: Mapping[Link, int]
    """Gb/s of each link."""
    cycle: Cycle
    table: tuple[Path, ...] = ()
    """Path of each packet of the cycle, where the paper prints them."""


def printed() -> Fabric:
    """Fig. 5. The figure is an image: the links have the rates that its Table IV counts."""
    cycle = counted(TABLE_4)
    return Fabric("S1", "S6", cycle.quotas, cycle, TABLE_4)


def drawn(seed: int) -> Fabric:
    """Two or three stages of two or three switches, links of unlike rates, some of them more than any flow fills.

    Raises:
        AnabranchError: none of many draws has one maximum flow and a short cycle.

    """
    source = random.Random(seed)
    for _ in range(ATTEMPTS):
        numbers = iter(range(2, 20))
        stages = [[f"S{next(numbers)}" for _ in range(source.randint(2, 3))] for _ in range(source.randint(2, 3))]
        first, last = "S1", f"S{next(numbers)}"
        rates: dict[Link, int] = {}
        for _ in range(source.randint(6, 20)):
            path = [first, *(source.choice(stage) for stage in stages), last]
            for link in pairwise(path):
                rates[link] = rates.get(link, 0) + 1
        rates = {link: rate + source.choice((0, 0, 0, 1, 2)) for link, rate in sorted(rates.items())}
        flow = exploitable(rates, first, last)
        if flow is None or flow.keys() != rates.keys() or rates == flow:
            continue
        cycle = cycle_of(flow, first)
        if cycle.packets <= PACKETS_MAX and _unequal(cycle):
            return Fabric(first, last, rates, cycle)
    raise AnabranchError(f"dbb/cycle: seed {seed}: none of {ATTEMPTS} fabrics has one maximum flow and a short cycle")


def _unequal(cycle: Cycle) -> bool:
    """Whether a switch of every stage but the last divides its packets unevenly."""
    switches = {at for at, _ in cycle.quotas}
    shares = [{packets for (at, _), packets in cycle.quotas.items() if at == switch} for switch in switches]
    return sum(len(one) > 1 for one in shares) >= 2
