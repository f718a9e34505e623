"""Cases of the testbed: what makes its two paths unequal, and what is sent over them."""

from __future__ import annotations

from dataclasses import dataclass

UPLINKS = ("spine0", "spine1")
"""Neighbours of leaf 0 by which the paths leave."""
LINK_MBPS = 100


@dataclass(frozen=True)
class Asymmetry:
    """Reason why the two paths differ; rates in Mbit/s."""

    name: str
    scenario: str
    """File in the study's folder."""
    degraded_mbps: int | None = None
    """Rate of the link to spine 1, where it has not that of the other."""
    outside_mbps: tuple[int, int] = (0, 0)
    """North-south traffic that leaves leaf 0 by each uplink."""

    @property
    def left_mbps(self) -> int:
        """Rate that both paths have left together."""
        return LINK_MBPS + (self.degraded_mbps or LINK_MBPS) - sum(self.outside_mbps)


@dataclass(frozen=True)
class Workload:
    """Sizes of flows."""

    name: str
    sizes: str
    """File in the study's folder."""
    divisor: int
    """What the published sizes were divided by."""

    @property
    def mice_bytes(self) -> int:
        """Largest of the short flows: the paper's 100 KB (Fig. 7)."""
        return 100_000 // self.divisor

    @property
    def elephants_bytes(self) -> int:
        """Smallest of the long flows: the paper's 10 MB."""
        return 10_000_000 // self.divisor


ASYMMETRIES = {
    one.name: one
    for one in (
        Asymmetry("100-50", "scenario.toml", 50),
        Asymmetry("100-10", "scenario.toml", 10),
        Asymmetry("N-S", "north-south.toml", outside_mbps=(10, 60)),
    )
}
"""Fig. 5a with both of its rates, and Fig. 5b."""

WORKLOADS = {
    one.name: one
    for one in (Workload("web search", "web-search.csv", 10), Workload("data mining", "data-mining.csv", 100))
}
