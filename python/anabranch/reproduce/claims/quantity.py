"""Quantities that claims about networks are measured by: names, units, and which of two values is better."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.simulate.stats.measures import MEASURES
from anabranch.simulate.stats.size_classes import ALL_FLOWS, SizeClass

OF_FLOWS = {"fct": MEASURES["fct"], "slowdown": MEASURES["slowdown"], "throughput": MEASURES["throughput"]}
OF_COMPARISONS = {**OF_FLOWS, "job time": MEASURES["job"]}
"""Quantities that `anabranch compare` has as well."""

UNITS = {
    **{name: measure.unit for name, measure in OF_COMPARISONS.items()},
    "goodput": "Gb/s",
    "share of bytes": "%",
    "split deviation": "",
    "share of flows": "%",
    "reordered": "%",
    "triple duplicates": "%",
    "retransmitted": "%",
    "dropped": "%",
    "policed": "%",
    "marked": "%",
    "utilisation": "%",
    "peak backlog": "KB",
    "path delay": "us",
    "decisions": "",
    "MAPE": "%",
    "meter error": "%",
    "packet deviation": "",
    "out of turn": "%",
    "beyond quota": "%",
    "balls beyond the mean": "",
    "empty bins": "%",
}
"""Every quantity, with its unit."""

LOWER_IS_BETTER = {
    **{name: measure.lower_is_better for name, measure in OF_COMPARISONS.items()},
    "goodput": False,
    "reordered": True,
    "triple duplicates": True,
    "retransmitted": True,
    "dropped": True,
    "MAPE": True,
    "meter error": True,
}
"""Quantities that schemes can be ranked by."""


@dataclass(frozen=True)
class Quantity:
    """Quantity measured of a run, one number a run, or none where it has too few flows.

    `fct`, `slowdown` and `throughput` (payload over FCT) are statistics of the finished flows of a size class, or one
    over another (`p99/mean`); `job time` is of the jobs that ended. `goodput` is the sum over pairs of hosts of the
    payload that applications received, in order, over the time from the first start, or from `record.omit`, to the last
    end, or the end of the simulation. `share of bytes` is what ports have sent of what they and others have, by name.
    `split deviation` is how far the bytes of ports are from `weights`, beside what chance alone would make of flows of
    these sizes: 1 if each flow drew its port by the weights, more if shares are others, less if flows are dealt out.
    `packet deviation` is the same of packets: 1 if each packet drew its port by the weights. `out of turn` is the part
    of the packets that took another next hop than a plan has for them, `beyond quota` what links carried beyond it.
    Where balls go into bins, `balls beyond the mean` are those of the fullest bin, and `empty bins` have none.
    `share of flows` is the class' part of all flows. `reordered`, `retransmitted` and `marked` are parts of the
    segments, `dropped` of the frames, and `policed` is the part of the frames that something before a port refused, as
    a meter does. `triple duplicates` are the times that a third duplicate acknowledgement in a row arrived, by segments
    sent. `MAPE` is the mean absolute percentage error of a split, by connections. `meter error` is what a meter carries
    beyond its rate in a window, and nothing below it, on average. `utilisation` is how busy ports' links were.
    `peak backlog` is the most that waited at one of the ports at any time, which is also the most by which what entered
    a port exceeded its rate times the time, over all windows; with `weights`, an allowance in KB for each port, how
    many times its own. `path delay` is a statistic of the time in the queues of ports, one after another, and on their
    links, at the times that `record.queues` samples; with `out_of`, how many times that of those. `decisions` is how
    often the load balancer did what its `counts` name.
    """

    name: str
    size_class: SizeClass = ALL_FLOWS
    statistic: str = "mean"
    ports: tuple[str, ...] = ()
    out_of: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    counts: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Unit of its values."""
        relative = {"path delay": self.out_of, "peak backlog": self.weights}.get(self.name)
        return "x" if "/" in self.statistic or relative else UNITS[self.name]

    @property
    def counts_finished(self) -> bool:
        """Whether flows that did not end are missing in it."""
        return self.name in OF_COMPARISONS

    @property
    def words(self) -> str:
        """In figures: `p99.9 FCT of mice, ms`."""
        what = OF_COMPARISONS[self.name].words if self.name in OF_COMPARISONS else self.name
        statistic = f"{self.statistic} " if self.name in (*OF_COMPARISONS, "path delay") else ""
        of = "" if self.size_class is ALL_FLOWS or self.name == "goodput" else f" of {self.size_class.label}"
        return f"{statistic}{what}{of}{f', {self.unit}' if self.unit else ''}"
