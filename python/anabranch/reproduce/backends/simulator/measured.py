"""Quantities measured of one run of the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.errors import AnabranchError
from anabranch.lab.run.transport import time_ns
from anabranch.reproduce.measure import CellMeasure, read_measure
from anabranch.reproduce.quantity import Quantity
from anabranch.stats.fct import QUANTILES, quantile
from anabranch.stats.jobs import completion_ns
from anabranch.stats.size_classes import SizeClass

if TYPE_CHECKING:
    from anabranch.runs.results import Run

SIMULATED = (
    "fct", "slowdown", "throughput", "goodput", "job time", "share of bytes", "split deviation", "share of flows",
    "reordered", "triple duplicates", "retransmitted", "dropped", "marked",
)  # fmt: skip
"""Quantities that a run gives."""


def read_simulated(given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> CellMeasure:
    """A measure of the simulator; see `measure.read_measure`."""
    return read_measure(given, classes, SIMULATED)


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
        return _goodput_gbps(run)
    if quantity.name == "share of bytes":
        return _share(run, quantity)
    if quantity.name == "split deviation":
        return _split_deviation(run, quantity)
    if quantity.name == "share of flows":
        return 100.0 * flows.filter(quantity.size_class.holds()).height / flows.height if flows.height else None
    if quantity.name == "dropped":
        sent = int(run.ports["sent_packets"].sum())
        return 100.0 * int(run.manifest["dropped_packets"]) / sent if sent else None
    column = "triple_duplicates" if quantity.name == "triple duplicates" else f"{quantity.name}_packets"
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


def _goodput_gbps(run: Run) -> float | None:
    """None if a pair has had no time to send."""
    recorded = run.scenario["record"]
    omit_ns = time_ns(recorded, "omit") if "omit" in recorded else 0.0
    began = run.flows.filter(pl.col("start_ns").is_not_null())
    ended = (pl.col("start_ns") + pl.col("fct_ns")).fill_null(run.manifest["end_ns"])
    pairs = began.group_by("src", "dst").agg(
        pl.col("received_bytes").sum().alias("bytes"),
        (ended.max() - pl.max_horizontal(pl.col("start_ns").min(), omit_ns)).alias("ns"),
    )
    if not pairs.height or (pairs["ns"] <= 0).any():
        return None
    return float((8.0 * pairs["bytes"] / pairs["ns"]).sum())


def _split_deviation(run: Run, quantity: Quantity) -> float | None:
    """Pearson's statistic of the ports' bytes over its degrees of freedom, so that its mean under chance is 1.

    Flows of b_i bytes that draw ports by shares p give a port bytes of the variance p (1 - p) sum(b_i^2) about
    p sum(b_i), so that the sum over ports of squared distance over p sum(b_i^2) has the mean (ports - 1), whatever the
    sizes.
    """
    sizes = run.flows["size_bytes"].cast(pl.Float64)
    if not len(sizes):
        return None
    sent = np.array([_sent_bytes(run, [name]) for name in quantity.ports], dtype=np.float64)
    shares = np.array(quantity.weights) / sum(quantity.weights)
    # The ports' bytes hold headers and what was sent again: shares are compared, and payload says what chance does.
    apart = sent / sent.sum() - shares if sent.sum() else -shares
    per_flow = float((sizes**2).sum()) / float(sizes.sum()) ** 2
    return float(np.sum(apart**2 / shares) / per_flow / (len(shares) - 1))


def _share(run: Run, quantity: Quantity) -> float | None:
    part, whole = (_sent_bytes(run, wanted) for wanted in (quantity.ports, quantity.out_of))
    return 100.0 * part / whole if whole else None


def _sent_bytes(run: Run, wanted: Sequence[str]) -> int:
    """Bytes that ports have sent, by their names.

    Raises:
        AnabranchError: the fabric has no such port.

    """
    names = run.topology["nodes"]["name"]
    ends = zip(run.topology["ports"]["from"], run.topology["ports"]["to"], strict=True)
    by_name: dict[str, list[int]] = {}
    for port, (source, target) in enumerate(ends):
        by_name.setdefault(f"{names[source]}>{names[target]}", []).append(port)
    if missing := [name for name in wanted if name not in by_name]:
        raise AnabranchError(f"{run.folder}: ports: {', '.join(missing)}: the fabric has none of that name")
    ports = [port for name in wanted for port in by_name[name]]
    return int(run.ports.filter(pl.col("port").is_in(ports))["sent_bytes"].sum())
