"""Quantities measured of one run of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.lab.run.transport import time_ns
from anabranch.reproduce.backends.simulator.port_quantities import OF_PORTS, of_ports
from anabranch.reproduce.backends.simulator.statistic import statistic_of
from anabranch.reproduce.claims.measure import CellMeasure, read_measure
from anabranch.reproduce.claims.quantity import OF_FLOWS, Quantity
from anabranch.simulate.stats.jobs import completion_ns
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.window import measured as measured_flows

if TYPE_CHECKING:
    from anabranch.simulate.runs.results import Run

SIMULATED = (
    "fct", "slowdown", "throughput", "goodput", "job time", "share of bytes", "split deviation", "packet deviation",
    "share of flows", "reordered", "triple duplicates", "retransmitted", "dropped", "policed", "marked", "utilisation",
    "peak backlog", "path delay", "decisions",
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
    flows = run.measured_flows
    if quantity.name in OF_FLOWS:
        return statistic_of(_values(quantity, flows), quantity.statistic)
    if quantity.name == "job time":
        times, _ = completion_ns(run.flows)
        return statistic_of(times / 1e6, quantity.statistic)
    if quantity.name == "goodput":
        return _goodput_gbps(run)
    if quantity.name in OF_PORTS:
        return of_ports(quantity, run)
    if quantity.name == "decisions":
        return _decisions(quantity, run)
    if quantity.name == "share of flows":
        return 100.0 * flows.filter(quantity.size_class.holds()).height / flows.height if flows.height else None
    if quantity.name == "dropped":
        sent = int((run.ports if run.window.whole else flows)["sent_packets"].sum())
        return 100.0 * run.sums["dropped_packets"] / sent if sent else None
    if quantity.name == "policed":
        sent, at_ports = (int(run.ports[column].sum()) for column in ("sent_packets", "dropped_packets"))
        return 100.0 * (int(run.manifest["dropped_packets"]) - at_ports) / sent if sent else None
    column = "triple_duplicates" if quantity.name == "triple duplicates" else f"{quantity.name}_packets"
    chosen = flows.filter(quantity.size_class.holds())
    sent = int(chosen["sent_packets"].sum())
    return 100.0 * int(chosen[column].sum()) / sent if sent else None


def _decisions(quantity: Quantity, run: Run) -> float | None:
    """Sum of counts of the load balancer; None if it has no such count."""
    known = run.manifest.get("balancer", {})
    return float(sum(known[name] for name in quantity.counts)) if set(quantity.counts) <= set(known) else None


def unfinished(quantity: Quantity, flows: pl.DataFrame) -> tuple[int, int]:
    """Flows of the class that count, began and did not end, and all of those that count."""
    chosen = measured_flows(flows).filter(quantity.size_class.holds())
    return chosen.height - int(chosen["finished"].sum()), chosen.height


def _values(quantity: Quantity, flows: pl.DataFrame) -> Any:
    finished = flows.filter(quantity.size_class.holds() & pl.col("finished"))
    columns = {
        "fct": pl.col("fct_ns") / 1e6,
        "slowdown": pl.col("slowdown"),
        "throughput": 8.0 * pl.col("size_bytes") / pl.col("fct_ns"),
    }
    return finished.select(columns[quantity.name].cast(pl.Float64))[:, 0].to_numpy()


def _goodput_gbps(run: Run) -> float | None:
    """None if a pair has had no time to send."""
    recorded = run.scenario["record"]
    omit_ns = time_ns(recorded, "omit") if "omit" in recorded else 0.0
    began = run.measured_flows.filter(pl.col("start_ns").is_not_null())
    ended = (pl.col("start_ns") + pl.col("fct_ns")).fill_null(run.manifest["end_ns"])
    pairs = began.group_by("src", "dst").agg(
        pl.col("received_bytes").sum().alias("bytes"),
        (ended.max() - pl.max_horizontal(pl.col("start_ns").min(), omit_ns)).alias("ns"),
    )
    if not pairs.height or (pairs["ns"] <= 0).any():
        return None
    return float((8.0 * pairs["bytes"] / pairs["ns"]).sum())
