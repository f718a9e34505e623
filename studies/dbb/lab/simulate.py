"""The same in the simulator, whose connections are greedy: what bounds them are links of hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from anabranch import _core
from anabranch.reproduce.backends.lab.cell_table import SIMULATOR

from .cases import PAIRS, Case, Recovery
from .fabric import BUFFER, LEAVES, PATHS
from .measure import Row
from .schemes import Scheme

WIRE, PAYLOAD = 1538, 1448
"""Bytes of a full frame, preamble and gap included, and of what TCP carries in it with timestamps."""
HEADERS = 52
"""Bytes of IP, TCP and timestamps in a packet."""
TRAFFIC = """
[[traffic]]
kind = "once"
pattern = {{ pairs = [{pairs}] }}
sizes = "1000 GB"
mss = "{mss} B"
"""
SCENARIO = """\
name = "lab-dbb"
seed = {seed}

[fabric]
kind = "graph"
link = {{ rate = "{link_bps} bps", delay = "30 us", buffer = "{buffer}", ecn = "off" }}
edge = [
{edges}
]

{traffic}

# As Linux: CUBIC, 200 ms of least timeout, 40 ms of delayed acknowledgement. Hosts of Linux queue no more than a few
# packets of a connection (TCP small queues), those of the simulator whole windows: hence one of 128 KB.
[transport]
kind = "cubic"
min_rto = "200 ms"
initial_rto = "1 s"
ack_delay = "40 ms"
window_max = "128 KB"

[stop]
at = "{end_ns} ns"

[record]
interval = "0 s"
"""


class Counts(NamedTuple):
    """Since the first moment."""

    sent: int
    again: int
    late: int
    """Segments that arrived, for the first time, after one with a higher number."""
    timeouts: int
    received: int
    """Payload bytes that applications had, in order."""
    passed: int
    """Frames that left the senders' edge for the other."""
    dropped: int


def run_simulator(
    link_bps: int, case: Case, recovery: Recovery, scheme: Scheme, span: tuple[float, float], *, draw: int = 0
) -> Row:
    """Runs the case twice, to the beginning of the window and to its end: what lies between is the window's.

    Raises:
        AnabranchError: the scenario is not as it must be.

    """
    alone = _alone(case, scheme)
    overrides = [*scheme.simulated, *recovery.simulated]
    ends_ns = (round(1e9 * span[0]), round(1e9 * sum(span)))
    before, after = (_counts(_scenario(link_bps, case, alone, draw, end_ns), overrides) for end_ns in ends_ns)
    counts = Counts(*(b - a for a, b in zip(before, after, strict=True)))
    sent = max(1, counts.sent)
    # What is sent again and was not lost arrives twice.
    needless = max(0, counts.again - counts.dropped)
    return Row(
        SIMULATOR,
        case.name,
        recovery.name,
        scheme.name,
        draw,
        False,
        goodput_mbps=8 * counts.received / span[1] / 1e6,
        disorder_pct=100 * counts.late / sent,
        seen_per_s=math.nan,
        again_pct=100 * counts.again / sent,
        needless_pct=100 * needless / sent,
        dropped_pct=100 * counts.dropped / max(1, counts.passed + counts.dropped),
        timeouts=counts.timeouts,
        late_p99_ms=0.0,
        cpu=0.0,
    )


def _counts(text: str, overrides: list[tuple[str, str]]) -> Counts:
    scenario = _core.Scenario(text, "lab-dbb", overrides)
    names: list[str] = scenario.topology()["nodes"]["name"]
    run = scenario.run()
    flows: Any = run.flows
    passed = dropped = 0
    columns = (run.ports[name] for name in ("from", "to", "sent_packets", "dropped_packets"))
    for source, target, sent, lost in zip(*columns, strict=True):
        dropped += int(lost)
        passed += int(sent) if names[source] == LEAVES[0] and names[target].startswith("spine") else 0
    return Counts(
        sent=int(sum(flows["sent_packets"])),
        again=int(sum(flows["retransmitted_packets"])),
        late=int(sum(flows["reordered_packets"])),
        timeouts=int(sum(flows["timeouts"])),
        received=int(sum(flows["received_bytes"])),
        passed=passed,
        dropped=dropped,
    )


def _scenario(link_bps: int, case: Case, alone: bool, draw: int, end_ns: int) -> str:
    hosts = case.per_pair if alone else 1
    pairs: dict[int, list[str]] = {}
    for pair in range(PAIRS):
        for number in range(case.per_pair):
            ends = f"[{pair * hosts + number % hosts}, {PAIRS * hosts + pair}]"
            pairs.setdefault(case.packet_bytes(number) - HEADERS, []).append(ends)
    return SCENARIO.format(
        seed=draw + 1,
        link_bps=link_bps,
        buffer=BUFFER,
        edges="\n".join(f"    {{ {edge} }}," for edge in _edges(link_bps, case, alone)),
        traffic="".join(TRAFFIC.format(pairs=", ".join(ends), mss=mss) for mss, ends in pairs.items()),
        end_ns=end_ns,
    )


def _alone(case: Case, scheme: Scheme) -> bool:
    """Whether each connection has a host of its own, whose link is its rate; those of one host share alike.

    A rate of its own binds where connections are unlike, or where one that is hashed to an idle path must not take what
    those on a busy path leave. It takes the bursts from a pair's connections, which otherwise share one link.
    """
    return len(case.ratios) > 1 or scheme.datapath == "slots"


def _edges(link_bps: int, case: Case, alone: bool) -> Iterator[str]:
    # Frames of all a pair's connections fit one link, as they must in the lab.
    wire_bps = link_bps * min(WIRE / PAYLOAD, 1 / case.offered)
    rates = [case.rate(number) for number in range(case.per_pair)] if alone else [case.offered]
    for pair in range(PAIRS):
        for number, rate in enumerate(rates):
            yield f'from = "from{pair}-{number}", to = "{LEAVES[0]}", rate = "{round(wire_bps * rate)} bps"'
    for pair in range(PAIRS):
        yield f'from = "to{pair}", to = "{LEAVES[1]}"'
    for path in range(PATHS):
        yield f'from = "{LEAVES[0]}", to = "spine{path}"'
        yield f'from = "spine{path}", to = "{LEAVES[1]}"'
