"""One meter of a bridge: frames that come in even steps, and those that pass by the millisecond."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.ovs.slices import burst_kb
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.lab.traffic.arrivals import Arrivals
from anabranch.lab.traffic.bursts import frames, open_outlet, send_batch
from anabranch.split.tuples import five_tuples

LEAF = "leaf0"
METER = 1
FRAME_BYTES = 1514
"""Ethernet's largest without check sequence: the paper's frames of 1522 bytes have a check sequence and a tag."""
HEADERS_BYTES = 42
SOURCE_PORT, SINK_PORT = 4000, 9
STEP_S = 0.0005
"""Between two writes of the sender, where frames are not rarer."""
BATCH_MAX = 64
SETTLE_S, SETTLE_STEP_S = 2.0, 0.05
"""After the last frame: longest wait for what the switch still holds, and the time between two looks."""
SPARE = 1.1
"""Room for arrivals, as a multiple of what a meter may let pass."""


@dataclass(frozen=True)
class Metered:
    """A meter, and what is sent to it."""

    rate_kbps: int
    burst_ms: int
    offered_mbps: int
    duration_s: int

    @property
    def burst_kb(self) -> int:
        """Bucket in kilobits, as slices have it."""
        return burst_kb(1000 * self.rate_kbps, self.burst_ms / 1000, FRAME_BYTES)


@dataclass(frozen=True)
class Passed:
    """What a meter let pass."""

    bits: npt.NDArray[np.float64]
    """Bits that passed in each millisecond; a frame counts when it has arrived."""
    sent: int
    """Frames that the sender sent."""
    came: int
    """Frames that came to the meter; the others were lost before it."""
    dropped: int
    """Frames that the meter dropped."""
    arrived: int
    """Frames that reached the other host."""
    came_bps: float
    """What came to the meter."""
    late_p99_ms: float
    """Lateness of the sender at 1 % of its writes."""

    @property
    def is_whole(self) -> bool:
        """Whether those that arrived are those that the meter let pass."""
        return self.arrived == self.came - self.dropped

    def __str__(self) -> str:
        return (
            f"{self.sent} frames sent, {self.came} came to the meter, {self.came - self.dropped} passed it, "
            f"{self.arrived} arrived"
        )


def measured(lab: Lab, meter: Metered) -> Passed:
    """Sends to one meter, which is made and removed.

    Raises:
        AnabranchError: the switch refuses the meter, or frames cannot be sent.

    """
    source, target = list(lab.hosts.values())[:2]
    number = {neighbour: port for port, (_, neighbour) in enumerate(lab.blueprint.ports(LEAF), start=1)}
    switch = open_vswitch(lab)
    switch.set_meter(
        LEAF, f"meter={METER},kbps,burst,band=type=drop,rate={meter.rate_kbps},burst_size={meter.burst_kb}"
    )
    switch.add_flows(
        LEAF, [f"priority=1,in_port={number[source.name]},ip,actions=meter:{METER},output:{number[target.name]}"]
    )
    sent = _frames(source.address, target.address, source.mac, target.mac)
    room = SPARE * (1000 * meter.rate_kbps * (meter.duration_s + 1) + 1000 * meter.burst_kb) / (8 * FRAME_BYTES)
    with Arrivals(target.namespace, target.interface, int(room) + 1000) as arrivals:
        count, late_ms = _send(source.namespace, source.interface, sent, meter)
        deadline = time.monotonic() + SETTLE_S
        while True:
            came, dropped = switch.meter_packets(LEAF)
            times_ns, lengths = arrivals.read()
            times_ns = times_ns[lengths == FRAME_BYTES]
            if len(times_ns) == count - dropped or time.monotonic() > deadline:
                break
            time.sleep(SETTLE_STEP_S)
    came_bps = 8 * FRAME_BYTES * came / meter.duration_s
    late_p99_ms = float(np.quantile(late_ms, 0.99)) if late_ms else 0.0
    bits = _by_ms(times_ns, meter.duration_s)
    return Passed(bits, count, came, dropped, len(times_ns), came_bps, late_p99_ms)


def _frames(source: str, target: str, source_mac: str, target_mac: str) -> npt.NDArray[np.uint8]:
    """A batch of frames of one connection."""
    batch = five_tuples(source, target, "udp", [SOURCE_PORT] * BATCH_MAX, SINK_PORT)
    return frames(batch, source_mac, target_mac, FRAME_BYTES - HEADERS_BYTES)


def _send(namespace: str, device: str, sent: npt.NDArray[np.uint8], meter: Metered) -> tuple[int, list[float]]:
    """Sends for the meter's time; number of frames, and lateness of each write in milliseconds."""
    gap_s = 8 * FRAME_BYTES / (1e6 * meter.offered_mbps)
    late_ms: list[float] = []
    with open_outlet(namespace, device) as outlet:
        began, count, written = time.monotonic(), 0, 0
        while (now := time.monotonic() - began) < meter.duration_s:
            due = int(now / gap_s) + 1 - count
            if due > 0:
                late_ms.append(1e3 * max(0.0, now - count * gap_s - STEP_S))
                # What a late sender has missed is past: at once it would be a burst.
                batch = sent[:due]
                send_batch(outlet, batch)
                count, written = count + due, written + len(batch)
            time.sleep(max(STEP_S, gap_s / 2))
    return written, late_ms


def _by_ms(times_ns: npt.NDArray[np.int64], duration_s: int) -> npt.NDArray[np.float64]:
    """Bits by millisecond, from the first frame on, which meets a full bucket."""
    if not len(times_ns):
        return np.zeros(1000 * duration_s)
    slots = (times_ns - times_ns[0]) // 1_000_000
    frames_of = np.bincount(slots[slots < 1000 * duration_s], minlength=1000 * duration_s)
    return frames_of.astype(np.float64) * 8 * FRAME_BYTES
