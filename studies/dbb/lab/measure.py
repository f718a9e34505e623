"""One run in the lab: the case's connections over real TCP, and what kernels, receivers and queues counted."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.lab.traffic.queue_counters import QueueReader
from anabranch.lab.traffic.streams import Span, Stream, run
from anabranch.reproduce.backends.lab.cell_table import LAB

from .cases import PAIRS, Case, Recovery
from .fabric import Fabric
from .schemes import Scheme

SOURCE_PORT_MIN = 20_000
"""Fixed, so that a hash takes the same paths again; another draw has other ports."""
PORTS_PER_DRAW = 1_000


@dataclass(frozen=True)
class Row:
    """The figures of one run. Not a number where they are not counted."""

    where: str
    case: str
    recovery: str
    scheme: str
    draw: int
    gso: bool
    """Whether packets of up to 64 KB went through the switches whole."""
    goodput_mbps: float
    """Payload that arrived, in order, all connections together."""
    disorder_pct: float
    """Share of the segments that arrived in disorder: in the lab those too early, behind a gap, be it loss or
    reordering; in the simulator those too late, after one with a higher number."""
    seen_per_s: float
    """How often senders took note that packets had overtaken each other."""
    again_pct: float
    """Share of the segments sent that were sent again."""
    needless_pct: float
    """Share of the segments sent that the receiver reported it had already (DSACK)."""
    dropped_pct: float
    """Share of the packets at the uplinks of the senders' leaf that a queue of a switch refused."""
    timeouts: int
    late_p99_ms: float
    """Lateness of the generator's writes."""
    cpu: float
    """Processors that the generator took."""


def streams(case: Case, link_bps: float, draw: int) -> list[Stream]:
    """The case's connections: all of the first pair of hosts, of the second, ..."""
    first = SOURCE_PORT_MIN + draw * PORTS_PER_DRAW
    return [
        Stream(
            pair,
            PAIRS + pair,
            link_bps * case.rate(number),
            case.packet_bytes(number),
            first + pair * case.per_pair + number,
        )
        for pair in range(PAIRS)
        for number in range(case.per_pair)
    ]


def run_lab(
    lab_fabric: Fabric,
    case: Case,
    recovery: Recovery,
    scheme: Scheme,
    span: tuple[float, float],
    *,
    draw: int = 0,
    gso: bool = False,
) -> Row:
    """Runs the connections; the scheme is installed, and `whole_segments` is as `gso` says.

    Raises:
        AnabranchError: a connection is not made or breaks.

    """
    how = Span(*span, sysctls=recovery.sysctls)
    with QueueReader(lab_fabric.lab.blueprint.switch_namespace, lab_fabric.switch_devices) as queues:
        before = queues.read()
        result = run(lab_fabric.endpoints, streams(case, lab_fabric.link_bps, draw), how)
        after = queues.read()
    dropped = {device: now.dropped_packets - before[device].dropped_packets for device, now in after.items()}
    passed = sum(
        after[device].sent_packets - before[device].sent_packets + dropped[device] for device in lab_fabric.uplinks
    )
    sent, arrived = max(1, result.total("sent_packets")), max(1, result.total("received_packets"))
    return Row(
        LAB,
        case.name,
        recovery.name,
        scheme.name,
        draw,
        gso,
        goodput_mbps=result.goodput_bps / 1e6,
        disorder_pct=100 * result.total("out_of_order_packets") / arrived,
        seen_per_s=1e9 * result.total("reorderings_seen") / result.window_ns,
        again_pct=100 * result.total("retransmitted_packets") / sent,
        needless_pct=100 * result.total("needless_packets") / sent,
        dropped_pct=100 * sum(dropped.values()) / max(1, passed),
        timeouts=result.total("timeouts"),
        late_p99_ms=result.late_p99_ns / 1e6,
        cpu=result.cpu_ns / result.window_ns,
    )
