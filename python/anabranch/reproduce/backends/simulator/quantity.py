"""One number of one run: what a claim is measured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import AnabranchError
from anabranch.stats.fct import QUANTILES, quantile
from anabranch.stats.jobs import completion_ns
from anabranch.stats.size_classes import ALL_FLOWS, SizeClass

if TYPE_CHECKING:
    from anabranch.runs.results import Run

UNITS = {
    "fct": "ms",
    "slowdown": "",
    "throughput": "Gb/s",
    "goodput": "Gb/s",
    "job time": "ms",
    "share of bytes": "%",
    "share of flows": "%",
    "reordered": "%",
    "retransmitted": "%",
    "dropped": "%",
    "marked": "%",
}
"""Every quantity, with its unit."""

LOWER_IS_BETTER = {
    "fct": True,
    "slowdown": True,
    "throughput": False,
    "goodput": False,
    "job time": True,
    "reordered": True,
    "retransmitted": True,
    "dropped": True,
}
"""Of those that schemes can be ranked by."""


@dataclass(frozen=True)
class Quantity:
    """What is measured of a run; a run gives one number for it, or none where it has too few flows.

    `fct`, `slowdown` and `throughput` (payload over FCT) are statistics of the finished flows of a size class, or one
    over another (`p99/mean`); `job time` is of the jobs that ended. `goodput` is the sum over pairs of hosts of the
    payload between them over the time from the first start to the last end. `share of bytes` is what ports have sent of
    what they and others have, by name. `share of flows` is the class' part of all flows. `reordered`, `retransmitted`
    and `marked` are parts of the segments, `dropped` of the frames.
    """

    name: str
    size_class: SizeClass = ALL_FLOWS
    statistic: str = "mean"
    ports: tuple[str, ...] = ()
    out_of: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Of its values."""
        return "x" if "/" in self.statistic else UNITS[self.name]

    @property
    def counts_finished(self) -> bool:
        """Whether flows that did not end are missing in it."""
        return self.name in ("fct", "slowdown", "throughput", "job time")

    @property
    def words(self) -> str:
        """In figures: `p99.9 FCT of mice, ms`."""
        what = {"fct": "FCT", "job time": "job time"}.get(self.name, self.name)
        statistic = f"{self.statistic} " if self.name in ("fct", "slowdown", "throughput", "job time") else ""
        of = "" if self.size_class is ALL_FLOWS or self.name == "goodput" else f" of {self.size_class.label}"
        return f"{statistic}{what}{of}{f', {self.unit}' if self.unit else ''}"


def measured(quantity: Quantity, run: Run) -> float | None:
    """The number, in the quantity's unit; None where too few flows or jobs finished for it.

    Raises:
        AnabranchError: the run has no such ports.

    """
    flows = run.flows
    if quantity.name in ("fct", "slowdown", "throughput"):
        return _statistic(_values(quantity, flows), quantity.statistic)
    if quantity.name == "job time":
        times, _ = completion_ns(flows)
        return _statistic(times / 1e6, quantity.statistic)
    if quantity.name == "goodput":
        return _goodput_gbps(flows)
    if quantity.name == "share of bytes":
        return _share(run, quantity)
    if quantity.name == "share of flows":
        return 100.0 * flows.filter(quantity.size_class.holds()).height / flows.height if flows.height else None
    if quantity.name == "dropped":
        sent = int(run.ports["sent_packets"].sum())
        return 100.0 * int(run.manifest["dropped_packets"]) / sent if sent else None
    column = f"{quantity.name}_packets"
    chosen = flows.filter(quantity.size_class.holds())
    sent = int(chosen["sent_packets"].sum())
    return 100.0 * int(chosen[column].sum()) / sent if sent else None


def unfinished(quantity: Quantity, flows: pl.DataFrame) -> tuple[int, int]:
    """Flows of the class that began and did not end, and all of it."""
    chosen = flows.filter(quantity.size_class.holds())
    return chosen.height - int(chosen["finished"].sum()), chosen.height


def _values(quantity: Quantity, flows: pl.DataFrame) -> Any:
    finished = flows.filter(quantity.size_class.holds() & pl.col("finished"))
    columns = {
        "fct": pl.col("fct_ns") / 1e6,
        "slowdown": pl.col("slowdown"),
        "throughput": 8.0 * pl.col("size_bytes") / pl.col("fct_ns"),
    }
    return finished.select(columns[quantity.name].cast(pl.Float64))[:, 0].to_numpy()


def _statistic(values: Any, statistic: str) -> float | None:
    if not len(values):
        return None
    first, _, second = statistic.partition("/")
    if second:
        above, below = _statistic(values, first), _statistic(values, second)
        return None if above is None or below is None else above / below
    return float(np.mean(values)) if statistic == "mean" else quantile(values, QUANTILES[statistic])


def _goodput_gbps(flows: pl.DataFrame) -> float | None:
    """None if a flow has not ended: what it has delivered is not known."""
    if not flows.height or not flows["finished"].all():
        return None
    pairs = flows.group_by("src", "dst").agg(
        pl.col("size_bytes").sum().alias("bytes"),
        ((pl.col("start_ns") + pl.col("fct_ns")).max() - pl.col("start_ns").min()).alias("ns"),
    )
    return float((8.0 * pairs["bytes"] / pairs["ns"]).sum())


def _share(run: Run, quantity: Quantity) -> float | None:
    names = run.topology["nodes"]["name"]
    ends = zip(run.topology["ports"]["from"], run.topology["ports"]["to"], strict=True)
    by_name: dict[str, list[int]] = {}
    for port, (source, target) in enumerate(ends):
        by_name.setdefault(f"{names[source]}>{names[target]}", []).append(port)
    sums = []
    for wanted in (quantity.ports, quantity.out_of):
        if missing := [name for name in wanted if name not in by_name]:
            raise AnabranchError(f"{run.folder}: ports: {', '.join(missing)}: the fabric has none of that name")
        ports = [port for name in wanted for port in by_name[name]]
        sums.append(int(run.ports.filter(pl.col("port").is_in(ports))["sent_bytes"].sum()))
    return 100.0 * sums[0] / sums[1] if sums[1] else None
