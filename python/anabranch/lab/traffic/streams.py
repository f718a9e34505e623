"""Long connections, each with a rate of its own to keep to and a size of its packets, as iPerf3's `--bitrate` has them.

What iPerf3 does not tell, this does: what the receivers' kernels got behind a gap, and what senders took from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.child import Child
from anabranch.lab.traffic.play import SYSCTLS, Endpoint

SMALLEST_PACKET, FULL_PACKET = 128, 1500
"""IPv4 packets; in the smallest is room for the header, timestamps and 76 bytes, below which Linux does not go."""
LATE_WARNED_NS = 5_000_000

ASKED = ("source", "target", "rate_bps", "packet_bytes", "source_port")
COLUMNS = (
    "delivered_bytes",
    "received_packets",
    "out_of_order_packets",
    "sent_packets",
    "retransmitted_packets",
    "reorderings_seen",
    "timeouts",
    "needless_packets",
)
"""Columns as the player has them, all within the window; see `StreamResults.streams`."""


@dataclass(frozen=True)
class Stream:
    """A connection between two hosts."""

    source: int
    """Position in the list of hosts."""
    target: int
    rate_bps: float
    """Rate of payload, on average since it began: what it could not send it sends later, as fast as it can."""
    packet_bytes: int = FULL_PACKET
    """Bytes of its IPv4 packets, headers included."""
    source_port: int = 0
    """0: any."""


@dataclass(frozen=True)
class Span:
    """How long streams run, and how."""

    warm_up_s: float
    """In which nothing is counted."""
    window_s: float
    """In which all is."""
    congestion_control: str = "cubic"
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of every host, on top of `play.SYSCTLS`; put back after the run."""


@dataclass(frozen=True)
class StreamResults:
    """Streams that were run; all counts are of the window."""

    streams: pl.DataFrame
    """A row each: source, target, rate_bps; delivered_bytes (payload with all before it there too), received_packets,
    out_of_order_packets (behind a gap), sent_packets, retransmitted_packets, reorderings_seen (by the sender),
    timeouts, needless_packets (that the receiver had already)."""
    window_ns: int
    """Measured window, as it came to be."""
    late_p99_ns: int
    """Lateness of the generator at 1 % of its writes, or more."""
    cpu_ns: int
    """Processor time that the generator took, kernel time included."""
    counters: dict[str, int]
    """TCP's of all hosts together, by the kernel's names."""
    settings: dict[str, str]
    """The first host's sysctls, with `congestion_control` as the senders' sockets ran it."""

    def total(self, column: str) -> int:
        """Sum of a column over all streams."""
        return int(self.streams[column].sum())

    @property
    def goodput_bps(self) -> float:
        """Payload that arrived, all streams together."""
        return 8e9 * self.total("delivered_bytes") / self.window_ns

    def warnings(self) -> list[str]:
        """Reasons why these results are worth less than they look."""
        if self.late_p99_ns <= LATE_WARNED_NS:
            return []
        return [f"the generator was {self.late_p99_ns / 1e6:.0f} ms late or more at 1 % of its writes"]


def run(endpoints: Sequence[Endpoint], streams: Sequence[Stream], span: Span) -> StreamResults:
    """Runs streams side by side, and waits for their end.

    Args:
        endpoints: Hosts.
        streams: Connections between them.
        span: How long, and how.

    Raises:
        AnabranchError: a stream between hosts that are not there, a rate or size that cannot be, a connection that
            is not made or breaks, no privilege, or a player that died.

    """
    for stream in streams:
        if not max(stream.source, stream.target) < len(endpoints):
            raise AnabranchError(f"stream: host {max(stream.source, stream.target)}: there are {len(endpoints)}")
        if not stream.rate_bps > 0:
            raise AnabranchError(f"stream: {stream.rate_bps:g} b/s: not above 0; leave the stream out")
        if not SMALLEST_PACKET <= stream.packet_bytes <= FULL_PACKET:
            raise AnabranchError(
                f"stream: packets of {stream.packet_bytes} bytes: not from {SMALLEST_PACKET} to {FULL_PACKET}"
            )
    specification = {
        "hosts": [{"namespace": one.namespace, "address": one.address} for one in endpoints],
        "streams": {name: [getattr(stream, name) for stream in streams] for name in ASKED},
        "warm_up_ns": round(span.warm_up_s * 1e9),
        "window_ns": round(span.window_s * 1e9),
        "congestion_control": span.congestion_control,
        "sysctls": SYSCTLS | dict(span.sysctls),
    }
    with Child("anabranch.lab.traffic.stream_player", "the player of streams") as player:
        player.put(specification)
        answer: dict[str, Any] = {}
        while "result" not in answer:
            answer = player.get()
    result = answer["result"]
    columns = dict(zip(COLUMNS, zip(*result["streams"], strict=True), strict=True))
    asked = {
        "source": [stream.source for stream in streams],
        "target": [stream.target for stream in streams],
        "rate_bps": [float(stream.rate_bps) for stream in streams],
    }
    return StreamResults(
        pl.DataFrame(asked | {name: list(values) for name, values in columns.items()}),
        result["window_ns"],
        result["late_p99_ns"],
        result["cpu_ns"],
        result["counters"],
        result["settings"],
    )
