"""Quantities of ports: bytes sent and how they divide, use of the links, and the time that a path over them takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.simulator.statistic import statistic_of
from anabranch.reproduce.claims.quantity import Quantity

if TYPE_CHECKING:
    from anabranch.simulate.runs.results import Run


OF_PORTS = (
    "share of bytes", "split deviation", "packet deviation", "utilisation", "peak backlog", "path delay",
)  # fmt: skip
"""Quantities that are measured here."""


def of_ports(quantity: Quantity, run: Run) -> float | None:
    """A quantity of `OF_PORTS`; None where nothing was sent or sampled.

    Raises:
        AnabranchError: the run has no such ports, or did not sample their queues.

    """
    if quantity.name == "path delay":
        own = _delay_us(run, quantity.ports, quantity.statistic)
        if not quantity.out_of:
            return own
        other = _delay_us(run, quantity.out_of, quantity.statistic)
        return own / other if own is not None and other else None
    if quantity.name == "utilisation":
        chosen = run.measured_ports.filter(pl.col("port").is_in(_numbers(run, quantity.ports)))
        weight = float(chosen["length_ns"].sum())
        return 100.0 * float((chosen["utilization"] * chosen["length_ns"]).sum()) / weight if weight else None
    if quantity.name == "split deviation":
        return _split_deviation(run, quantity)
    if quantity.name == "packet deviation":
        return _packet_deviation(run, quantity)
    if quantity.name == "peak backlog":
        return _peak_backlog(run, quantity)
    part, whole = _sent(run, "sent_bytes", quantity.ports, quantity.out_of)
    return 100.0 * part / whole if whole else None


def _split_deviation(run: Run, quantity: Quantity) -> float | None:
    """Pearson's statistic of the ports' bytes over its degrees of freedom, so that its mean under chance is 1.

    Flows of b_i bytes that draw ports by shares p give a port bytes of the variance p (1 - p) sum(b_i^2) about
    p sum(b_i), so that the sum over ports of squared distance over p sum(b_i^2) has the mean (ports - 1), whatever the
    sizes.
    """
    sizes = run.measured_flows["size_bytes"].cast(pl.Float64)
    if not len(sizes):
        return None
    sent = np.array(_sent(run, "sent_bytes", *([name] for name in quantity.ports)), dtype=np.float64)
    shares = np.array(quantity.weights) / sum(quantity.weights)
    # The ports' bytes hold headers and what was sent again: shares are compared, and payload says what chance does.
    apart = sent / sent.sum() - shares if sent.sum() else -shares
    per_flow = float((sizes**2).sum()) / float(sizes.sum()) ** 2
    return float(np.sum(apart**2 / shares) / per_flow / (len(shares) - 1))


def _packet_deviation(run: Run, quantity: Quantity) -> float | None:
    """Pearson's statistic of the ports' packets over its degrees of freedom, whose mean under chance is 1."""
    sent = np.array(_sent(run, "sent_packets", *([name] for name in quantity.ports)), dtype=np.float64)
    asked = sent.sum() * np.array(quantity.weights) / sum(quantity.weights)
    return float(np.sum((sent - asked) ** 2 / asked) / (len(sent) - 1)) if sent.sum() else None


def _peak_backlog(run: Run, quantity: Quantity) -> float | None:
    """Most KB that ever waited at one of the ports, or the largest multiple of the ports' allowances.

    A link of rate R at which A(s, t) bytes arrive from s to t has the backlog max over s of A(s, t) - R (t - s): its
    peak is what meters of R in sum let through beyond R in any window, their bursts (Cruz 1991), and a frame that is
    being sent.
    """
    largest = dict(run.measured_ports.group_by("port").agg(pl.col("backlog_max_bytes").max()).iter_rows())
    allowances_kb = quantity.weights or (1.0,) * len(quantity.ports)
    peaks = [
        largest.get(port, 0) / 1000 / allowance
        for name, allowance in zip(quantity.ports, allowances_kb, strict=True)
        for port in _numbers(run, [name])
    ]
    return max(peaks, default=None)


def _sent(run: Run, column: str, *tiers: Sequence[str]) -> tuple[int, ...]:
    """Bytes or packets (`column`) that each group of ports has sent, by their names."""
    sums = [
        pl.col(column).filter(pl.col("port").is_in(_numbers(run, names))).sum().alias(str(group))
        for group, names in enumerate(tiers)
    ]
    return run.measured_ports.select(sums).row(0)


def _numbers(run: Run, columns: Sequence[str]) -> list[int]:
    """Ports of these names; parallel links share one."""
    names = run.topology["nodes"]["name"]
    ends = zip(run.topology["ports"]["from"], run.topology["ports"]["to"], strict=True)
    by_name: dict[str, list[int]] = {}
    for port, (source, target) in enumerate(ends):
        by_name.setdefault(f"{names[source]}>{names[target]}", []).append(port)
    if missing := [name for name in columns if name not in by_name]:
        raise AnabranchError(f"{run.folder}: ports: {', '.join(missing)}: the fabric has none of that name")
    return [port for name in columns for port in by_name[name]]


def _delay_us(run: Run, names: Sequence[str], statistic: str) -> float | None:
    """Time in the queues of a path's ports and on their links, at each time that the queues were sampled."""
    ports = run.topology["ports"]
    sums, links_ns = np.zeros(0), 0.0
    for port in _numbers(run, names):
        samples = run.measured_queues.filter(pl.col("port") == port).sort("time_ns")
        if not samples.height:
            unknown = f"{run.folder}: ports: {', '.join(names)}: a queue among these was not sampled"
            raise AnabranchError(f"{unknown}; add them to record.queues")
        waits_ns = samples["backlog_bytes"].to_numpy() * 8e9 / ports["rate_bps"][port]
        sums = waits_ns if not sums.size else sums + waits_ns
        links_ns += ports["delay_ns"][port]
    return statistic_of((sums + links_ns) / 1000, statistic)
