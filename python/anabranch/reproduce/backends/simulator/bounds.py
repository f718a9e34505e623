"""Bounds that no network can pass, whatever its load balancer: capacity, propagation, conservation.

They are computed here from the fabric as it is written beside a run, not by the simulator, so that a simulator that
creates bytes or skips links is found out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from anabranch.simulate.runs.results import Run

ROUNDING = 1e-6
"""Part of a time that rounding may take."""
BYTES_AT_END = 65_536
"""Bytes of a frame that a port has counted and not quite sent when the simulation ends."""


def passed(run: Run) -> str:
    """The first bound that a run has passed, in words; empty if it keeps them all."""
    return _too_fast(run) or _not_conserved(run) or _beyond_capacity(run)


def _too_fast(run: Run) -> str:
    """A flow cannot end before its payload has left its host, crossed the fabric and entered the other."""
    finished = run.flows.filter(pl.col("finished"))
    if not finished.height:
        return ""
    ports = run.topology["ports"]
    best = _best_rates(run)
    up = _of_hosts(run, ports["from"], best)
    down = _of_hosts(run, ports["to"], best)
    nearest = _of_hosts(run, ports["from"], -np.asarray(ports["delay_ns"], dtype=np.float64))
    src, dst = finished["src"].to_numpy(), finished["dst"].to_numpy()
    serial = 8e9 * finished["size_bytes"].to_numpy() / np.minimum(up[src], down[dst])
    least = (serial - nearest[src] - nearest[dst]) * (1 - ROUNDING)
    took = finished["fct_ns"].to_numpy()
    wrong = np.flatnonzero((took < least) & (src != dst))
    if not wrong.size:
        return ""
    flow = int(finished["flow"][int(wrong[0])])
    return (
        f"flow {flow} took {took[wrong[0]]:,.0f} ns, and its hosts' links alone need {least[wrong[0]]:,.0f}: {run.name}"
    )


def _not_conserved(run: Run) -> str:
    """What was sent was delivered, dropped or lost, or is left in the fabric; a finished flow was delivered whole."""
    flows = run.flows
    sent, arrived = (int(flows[column].sum()) for column in ("sent_packets", "delivered_packets"))
    gone = int(flows["dropped_packets"].sum()) + int(flows["lost_packets"].sum())
    left = int(run.manifest["packets_left"])
    if not 0 <= sent - arrived - gone <= left:
        return f"{sent:,} packets sent, {arrived:,} delivered, {gone:,} dropped or lost, {left:,} left: {run.name}"
    short = flows.filter(pl.col("finished") & (pl.col("delivered_bytes") < pl.col("size_bytes"))).height
    return f"{short:,} flows ended without all of their bytes: {run.name}" if short else ""


def _beyond_capacity(run: Run) -> str:
    """No port sends more than its rate allows in the time there was."""
    sent = run.ports.group_by("port").agg(pl.col("sent_bytes").sum())
    best = _best_rates(run)[sent["port"].to_numpy()]
    room = best * float(run.manifest["end_ns"]) / 8e9 * (1 + ROUNDING) + BYTES_AT_END
    wrong = np.flatnonzero(sent["sent_bytes"].to_numpy() > room)
    if not wrong.size:
        return ""
    port = int(sent["port"][int(wrong[0])])
    amount = int(sent["sent_bytes"][int(wrong[0])])
    return f"port {port} sent {amount:,} bytes and has time for {room[wrong[0]]:,.0f}: {run.name}"


def _best_rates(run: Run) -> Any:
    """Highest rate of every port over the run, in bit/s."""
    best = np.asarray(run.topology["ports"]["rate_bps"], dtype=np.float64).copy()
    for change in run.topology.get("changes", []):
        if change["what"] == "port_rate":
            best[change["port"]] = max(best[change["port"]], change["value"])
    return best


def _of_hosts(run: Run, nodes: list[int], values: Any) -> Any:
    """Largest value among the ports of each host, by the host's number."""
    bounds = np.full(int(run.topology["hosts"]), -np.inf)
    node = np.asarray(nodes)
    host = node < bounds.size
    np.maximum.at(bounds, node[host], np.asarray(values)[host])
    return bounds
