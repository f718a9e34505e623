"""One run: the scenario's flows over real TCP, or in the simulator; and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.traffic.play import Endpoint, Options, Watch, play
from anabranch.reproduce.backends.lab.cell_table import LAB, SIMULATOR
from anabranch.simulate.runs.load import read_text

from .cases import Asymmetry, Workload
from .schemes import Flows, Scheme

DRAIN_S = 6


@dataclass(frozen=True)
class Point:
    """Point to run: what makes paths unequal, what is sent, a load of what is left, and the random streams' number."""

    asymmetry: Asymmetry
    workload: Workload
    load: float
    duration_s: int
    seed: int
    folder: Path
    """Folder of the study."""

    @property
    def file(self) -> Path:
        """Scenario of the fabric and its flows."""
        return self.folder / self.asymmetry.scenario

    @property
    def end_s(self) -> int:
        """When the run ends, whatever is unfinished then."""
        return self.duration_s + DRAIN_S

    def scenario(self, routing: Sequence[tuple[str, str]] = ()) -> _core.Scenario:
        """The scenario of this point.

        Raises:
            AnabranchError: it is not as it must be.

        """
        degraded_mbps = self.asymmetry.degraded_mbps
        keys = [
            ("seed", str(self.seed)),
            ("traffic.sizes.file", f'"{self.workload.sizes}"'),
            ("traffic.capacity", f'"{self.asymmetry.left_mbps} Mbps"'),
            ("traffic.load", str(self.load)),
            ("traffic.duration", f'"{self.duration_s} s"'),
            ("stop.at", f'"{self.end_s} s"'),
        ]
        if degraded_mbps is not None:
            keys.append(("change.0.rate", f'"{degraded_mbps} Mbps"'))
        return _core.Scenario(read_text(self.file), str(self.file), [*keys, *routing])


@dataclass(frozen=True)
class Row:
    """The figures of one run; times in milliseconds, of finished flows. Not a number where there is none."""

    where: str
    scheme: str
    fabric: str
    workload: str
    load: float
    seed: int
    flows: int
    unfinished: int
    afct_ms: float
    mice_ms: float
    p99_ms: float
    elephants_mbps: float
    """Mean of their throughputs."""
    goodput_mbps: float
    """Payload that arrived, over the time it took."""
    retransmitted_pct: float
    out_of_order_pct: float
    spurious_pct: float
    """Share of the retransmissions that the receiver had already (RFC 2883); only the lab counts them."""
    reorderings: int
    """How often a sender saw that packets had overtaken each other; only the lab counts them."""
    timeouts: int
    late_p99_ms: float
    """Lateness of the generator's starts of flows."""


def run_lab(
    lab: Lab, scheme: Scheme, point: Point, sent_as: Callable[[Flows, int], Flows], watch: Watch | None = None
) -> Row:
    """Plays the flows; the scheme is installed, and gave what it makes of flows.

    Raises:
        AnabranchError: the player died.

    """
    endpoints = [Endpoint(host.namespace, host.address) for host in lab.hosts.values()]
    options = Options(end_ns=1e9 * point.end_s)
    played = play(endpoints, sent_as(point.scenario().flows(), point.seed), options, watch=watch)
    flows = played.flows
    sent = max(1, int(flows["sent_packets"].sum()))
    again = int(flows["retransmitted_packets"].sum())
    return Row(
        LAB,
        scheme.name,
        point.asymmetry.name,
        point.workload.name,
        point.load,
        point.seed,
        flows.height,
        played.unfinished,
        *_times(point.workload, flows["size_bytes"].to_numpy(), flows["fct_ns"].to_numpy()),
        goodput_mbps=played.goodput_bps / 1e6,
        retransmitted_pct=100 * again / sent,
        out_of_order_pct=100 * int(flows["out_of_order_packets"].sum()) / sent,
        spurious_pct=100 * played.counters.get("TCPDSACKRecv", 0) / max(1, again),
        reorderings=int(flows["reorderings_seen"].sum()),
        timeouts=played.counters.get("TCPTimeouts", 0),
        late_p99_ms=played.late_p99_ns / 1e6,
    )


def run_simulator(scheme: Scheme, point: Point) -> Row:
    """Runs the same flows in the simulator.

    Raises:
        AnabranchError: the scenario is not as it must be.

    """
    simulated = point.scenario(scheme.simulated).run()
    columns = {
        name: np.array([np.nan if x is None else x for x in column], float) for name, column in _numbers(simulated)
    }
    sizes, times = columns["size_bytes"], columns["fct_ns"]
    sent = max(1.0, columns["sent_packets"].sum())
    done = ~np.isnan(times)
    last_ns = float((columns["start_ns"] + times)[done].max(initial=1.0))
    return Row(
        SIMULATOR,
        scheme.name,
        point.asymmetry.name,
        point.workload.name,
        point.load,
        point.seed,
        len(sizes),
        int((~done).sum()),
        *_times(point.workload, sizes, times),
        goodput_mbps=8e3 * float(sizes[done].sum()) / last_ns,
        retransmitted_pct=100 * float(columns["retransmitted_packets"].sum()) / sent,
        out_of_order_pct=100 * float(columns["reordered_packets"].sum()) / sent,
        spurious_pct=float("nan"),
        reorderings=0,
        timeouts=int(columns["timeouts"].sum()),
        late_p99_ms=0.0,
    )


def _numbers(run: _core.Run) -> list[tuple[str, Sequence[float | None]]]:
    names = ["size_bytes", "start_ns", "fct_ns", "timeouts"]
    names += [f"{kind}_packets" for kind in ("sent", "retransmitted", "reordered")]
    return [(name, list(run.flows[name])) for name in names]


def _times(
    workload: Workload, sizes: npt.NDArray[np.float64], fct_ns: npt.NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Mean FCT, that of mice, the 99th percentile, and the mean throughput of elephants."""
    done = ~np.isnan(np.asarray(fct_ns, float))
    size, time_ms = sizes[done], np.asarray(fct_ns, float)[done] / 1e6
    mice, elephants = size <= workload.mice_bytes, size >= workload.elephants_bytes
    return (
        _mean(time_ms),
        _mean(time_ms[mice]),
        float(np.quantile(time_ms, 0.99)) if len(time_ms) else float("nan"),
        _mean(8e-3 * size[elephants] / time_ms[elephants]),
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
