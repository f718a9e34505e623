"""Load of each tier of a fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anabranch.simulate.stats.tiers import TIERS

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TierLoad:
    """All ports from one tier to another, as one."""

    direction: str
    ports: int
    capacity_bps: float
    mean_pct: float
    busiest_pct: float
    """Utilisation of the busiest single port over the same time."""


def port_utilization(
    topology: Mapping[str, Any], ports: pl.DataFrame, until_ns: float | None = None
) -> npt.NDArray[np.float64]:
    """Utilisation of each port, shape (ports,), over the intervals that end by `until_ns`, or all if none does."""
    import polars as pl

    chosen = ports
    if until_ns is not None:
        within = ports.filter(pl.col("start_ns") + pl.col("length_ns") <= until_ns)
        chosen = within if within.height else ports
    busy = chosen.group_by("port").agg(
        ((pl.col("utilization") * pl.col("length_ns")).sum() / pl.col("length_ns").sum()).alias("utilization")
    )
    utilization = np.zeros(len(topology["ports"]["from"]))
    # A run that no flow begins takes no time: nothing over nothing.
    utilization[busy["port"].to_numpy()] = busy["utilization"].fill_nan(0.0).to_numpy()
    return utilization


def achieved(topology: Mapping[str, Any], ports: pl.DataFrame, until_ns: float | None = None) -> list[TierLoad]:
    """Utilisation by direction, going up first; `until_ns` as in `port_utilization`."""
    utilization = port_utilization(topology, ports, until_ns)
    tier = np.array([TIERS.index(name) for name in topology["nodes"]["tier"]])
    source, target = tier[np.asarray(topology["ports"]["from"])], tier[np.asarray(topology["ports"]["to"])]
    rate = np.asarray(topology["ports"]["rate_bps"], dtype=np.float64)
    rows = []
    pairs = sorted({(int(a), int(b)) for a, b in zip(source, target, strict=True)})
    up, down = [p for p in pairs if p[0] <= p[1]], [p for p in reversed(pairs) if p[0] > p[1]]
    for low, high in up + down:
        of_pair = (source == low) & (target == high)
        rows.append(
            TierLoad(
                f"{TIERS[low]} to {TIERS[high]}",
                int(of_pair.sum()),
                float(rate[of_pair].sum()),
                float(100 * np.average(utilization[of_pair], weights=rate[of_pair])),
                float(100 * utilization[of_pair].max()),
            )
        )
    return rows
