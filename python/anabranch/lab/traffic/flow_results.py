"""Results of playing flows: a row per flow under the simulator's column names, and counters of kernels and ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anabranch import _core

LATE_WARNED_NS = 1_000_000
SENT = ("sent_bytes", "sent_packets", "retransmitted_packets", "marked_packets", "reorderings_seen", "timeouts")
"""In the order of `tcp_info.Sent`."""

SIMULATED = {name: (kind, meaning) for name, kind, meaning in _core.columns()["flows"]}


def _column(name: str, meaning: str = "") -> tuple[str, str, str]:
    """A column of the simulator, with a meaning of its own where it means something else here."""
    kind, simulated = SIMULATED[name]
    return name, kind, meaning or simulated


COLUMNS = (
    _column("flow"),
    _column("src", "Host that sends."),
    _column("dst"),
    _column("size_bytes"),
    _column("start_ns", "When the list wanted it to start."),
    _column("fct_ns", "From that moment to the reading of the last byte at the receiver; null if unfinished."),
    ("late_ns", "real", "How much later than that its sender acted; null if it never did."),
    _column("received_bytes", "Payload that arrived, in order."),
    _column("sent_bytes", "Payload sent, retransmissions included; null if it never started."),
    _column("sent_packets", "Segments with payload sent, retransmissions included."),
    _column("retransmitted_packets"),
    _column("marked_packets", "Segments whose congestion mark was echoed."),
    ("reorderings_seen", "integer", "How often the sender saw that segments had overtaken each other."),
    _column("timeouts", "Retransmission timeouts; null where the kernel does not count them by connection."),
    ("out_of_order_packets", "integer", "Segments that arrived behind a gap, be it loss or reordering."),
    ("error", "text", "Why its connection broke; null otherwise."),
    _column("finished", "Whether its last byte arrived in time."),
)


@dataclass(frozen=True)
class FlowResults:
    """Flows that were played.

    `counters` are TCP's of all hosts together over the run, by the kernel's names; `settings` the first host's sysctls,
    with `congestion_control` as the senders' sockets ran it.
    """

    flows: pl.DataFrame
    began_ns: int
    """The first moment of the list, on CLOCK_MONOTONIC."""
    elapsed_ns: int
    """From then to the last flow's end, or to the deadline."""
    cpu_ns: int
    """Processor time that the player took, kernel time included."""
    connections: int
    counters: dict[str, int]
    settings: dict[str, str]

    @property
    def unfinished(self) -> int:
        """Flows whose last byte did not arrive in time."""
        return self.flows.height - int(self.flows["finished"].sum())

    @property
    def late_p99_ns(self) -> float:
        """The lateness that 99 of 100 starts did not exceed."""
        late = self.flows["late_ns"].drop_nulls()
        return float(np.quantile(late.to_numpy(), 0.99, method="inverted_cdf")) if len(late) else 0.0

    @property
    def goodput_bps(self) -> float:
        """Payload that arrived, over the time it took."""
        return 8e9 * int(self.flows["received_bytes"].sum()) / max(self.elapsed_ns, 1)

    def warnings(self) -> list[str]:
        """Reasons why these results are worth less than they look."""
        sentences = []
        if self.late_p99_ns > LATE_WARNED_NS:
            sentences.append(
                f"the generator was late: 1 % of flows began {self.late_p99_ns / 1e6:.1f} ms late or more; "
                "lower the load, or leave the machine to it"
            )
        broken = self.flows.filter(pl.col("error").is_not_null())
        if broken.height:
            sentences.append(f"{broken.height} connections broke: {broken['error'][0]}")
        if self.unfinished:
            sentences.append(f"{self.unfinished} of {self.flows.height} flows unfinished; they are in no mean")
        return sentences


def results(flows: Mapping[str, Sequence[Any]], began_ns: int, answer: Mapping[str, Any]) -> FlowResults:
    """The player's answer beside the list it played."""
    played = answer["flows"]
    nothing = (None,) * len(SENT)
    sent = list(zip(*(row or nothing for row in played["sent"]), strict=True)) or [()] * len(SENT)
    integers = dict(zip(SENT, sent, strict=True))
    frame = pl.DataFrame(
        {
            "flow": pl.Series(flows["flow"], dtype=pl.UInt64),
            **{name: pl.Series(flows[name], dtype=pl.UInt64) for name in ("src", "dst", "size_bytes")},
            "start_ns": pl.Series(flows["start_ns"], dtype=pl.Float64),
            "finished_ns": pl.Series(played["finished_ns"], dtype=pl.Float64),
            "started_ns": pl.Series(played["started_ns"], dtype=pl.Float64),
            "received_bytes": pl.Series(played["received_bytes"], dtype=pl.UInt64),
            **{name: pl.Series(values, dtype=pl.UInt64) for name, values in integers.items()},
            "out_of_order_packets": pl.Series(played["out_of_order_packets"], dtype=pl.UInt64),
            "error": pl.Series(played["error"], dtype=pl.String),
        }
    ).with_columns(
        fct_ns=pl.col("finished_ns") - pl.col("start_ns"),
        late_ns=pl.col("started_ns") - pl.col("start_ns"),
        finished=pl.col("finished_ns").is_not_null(),
    )
    return FlowResults(
        frame.select(name for name, _, _ in COLUMNS),
        began_ns,
        answer["elapsed_ns"],
        answer["cpu_ns"],
        answer["connections"],
        answer["counters"],
        answer["settings"],
    )
