"""The same scenario in the simulator and in a lab: completion times by size class, and what each link carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from anabranch.lab.calibration.unloaded import Unloaded
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.fct import by_class
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.tiers import TIERS
from anabranch.split.stats.confidence import Ratio, half_width, paired_ratio

STATISTICS = ("mean", "p50", "p95")
BURST_FRAMES = 2
"""Burst of the lab's links: with more, flows of a few frames would not feel their rate."""
ONE_DELAY = ("graph", "graphml", "ns3", "htsim")


@dataclass(frozen=True)
class Pairs:
    """Runs of the same flow lists in both, by seed."""

    unloaded: Unloaded
    scale: float
    """Scale of the lab's rates; its times are the scenario's divided by it."""
    lab: list[Run]
    simulated: list[Run]


@dataclass(frozen=True)
class Beside:
    """One statistic of one size class in both, over seeds; None where too few flows finished."""

    size_class: str
    statistic: str
    flows: int
    lab_ns: float
    lab_half_ns: float | None
    """Half the width of the 95 % interval over seeds."""
    simulated_ns: float
    simulated_half_ns: float | None
    ratio: Ratio
    """Lab over simulator, seed by seed."""


@dataclass(frozen=True)
class LinkShare:
    """Share of one port in the bytes that a switch sent upwards, over all seeds."""

    port: str
    lab_share: float
    simulated_share: float
    lab_dropped: int
    simulated_dropped: int


@dataclass(frozen=True)
class Waiting:
    """Bytes waiting at the ports from one tier to another, a mean over ports and the time in which flows begin."""

    direction: str
    lab_bytes: float
    simulated_bytes: float


def as_simulated(unloaded: Unloaded, kind: str, scale: float) -> list[tuple[str, str]]:
    """Overrides that give the simulator's links the delays that a lab's have, in the scenario's time."""
    host, uplink = (f'"{round(scale * delay)} ns"' for delay in (unloaded.host_delay_ns, unloaded.uplink_delay_ns))
    if kind in ONE_DELAY:
        return [("fabric.link.delay", uplink)]
    return [("fabric.host_link.delay", host), ("fabric.uplink.delay", uplink)]


def times(pairs: Pairs, classes: Sequence[SizeClass]) -> list[Beside]:
    """Completion times in the scenario's time; a statistic that a run lacks is left out."""
    tables = [[by_class(run.flows, classes) for run in runs] for runs in (pairs.lab, pairs.simulated)]
    rows = []
    for index, one in enumerate(classes):
        for statistic in STATISTICS:
            values = [[table[f"fct_ns_{statistic}"][index] for table in side] for side in tables]
            if any(value is None for side in values for value in side):
                continue
            real, model = (np.array(side, dtype=np.float64) for side in values)
            real = real * pairs.scale
            rows.append(
                Beside(
                    size_class=one.label,
                    statistic=statistic,
                    flows=sum(int(table["flows"][index]) for table in tables[0]),
                    lab_ns=float(real.mean()),
                    lab_half_ns=half_width(real),
                    simulated_ns=float(model.mean()),
                    simulated_half_ns=half_width(model),
                    ratio=paired_ratio(real, model),
                )
            )
    return rows


def shares(pairs: Pairs) -> list[LinkShare]:
    """The leaves' ports upwards."""
    topology = pairs.lab[0].topology
    names, tiers = topology["nodes"]["name"], topology["nodes"]["tier"]
    between = [
        port
        for port, (a, b) in enumerate(zip(topology["ports"]["from"], topology["ports"]["to"], strict=True))
        if tiers[a] == "leaf" and tiers[b] != "host"
    ]
    sent, dropped = zip(
        *(_port_sums(runs, "sent_bytes", "dropped_packets") for runs in (pairs.lab, pairs.simulated)), strict=True
    )
    rows = []
    for port in between:
        sender = topology["ports"]["from"][port]
        siblings = [other for other in between if topology["ports"]["from"][other] == sender]
        lab_share, simulated_share = (
            float(side[port] / max(sum(side[other] for other in siblings), 1)) for side in sent
        )
        name = f"{names[sender]}>{names[topology['ports']['to'][port]]}"
        rows.append(LinkShare(name, lab_share, simulated_share, *(int(side[port]) for side in dropped)))
    return rows


def waiting(pairs: Pairs) -> list[Waiting]:
    """Waiting bytes by direction, going up first."""
    names = pl.DataFrame({"node": range(len(pairs.lab[0].topology["nodes"]["tier"]))}, schema={"node": pl.UInt64})
    names = names.with_columns(tier=pl.Series(pairs.lab[0].topology["nodes"]["tier"]))
    sides = [pl.concat([_waiting(run, names) for run in runs]) for runs in (pairs.lab, pairs.simulated)]
    # Silent intervals are joined, so that one row may stand for many.
    mean = (pl.col("bytes") * pl.col("length_ns")).sum() / pl.col("length_ns").sum()
    lab, simulated = (dict(side.group_by("direction").agg(mean).iter_rows()) for side in sides)
    order = sorted(lab, key=lambda direction: [TIERS.index(tier) for tier in direction.split(" to ")])
    return [Waiting(direction, lab[direction], simulated[direction]) for direction in order]


def _waiting(run: Run, names: pl.DataFrame) -> pl.DataFrame:
    ports = run.measured_ports.filter(pl.col("start_ns") < run.flows["start_ns"].max())
    for end in ("from", "to"):
        ports = ports.join(names.rename({"node": end, "tier": f"{end}_tier"}), on=end)
    direction = pl.concat_str("from_tier", pl.lit(" to "), "to_tier")
    return ports.select("length_ns", direction=direction, bytes=pl.col("backlog_mean_bytes"))


def _port_sums(runs: Sequence[Run], *columns: str) -> list[dict[int, int]]:
    ports = pl.concat([run.measured_ports.select("port", *columns) for run in runs])
    summed = ports.group_by("port").agg(pl.col(column).sum() for column in columns)
    return [dict(zip(summed["port"].to_list(), summed[column].to_list(), strict=True)) for column in columns]
