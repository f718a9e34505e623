"""The rate of a link and the room before it, as lines for `tc -batch`: HTB with one class, in it a FIFO in bytes.

HTB and not TBF: closer to the rate asked under TCP, and classes for single DSCPs can be added beside. A link of the
scenario counts preamble, frame check and gap (IEEE 802.3 clause 4.4.2), which Linux does not: `overhead` adds them.
"""

from __future__ import annotations

from collections.abc import Iterator

ROOT, CLASS, QUEUE = "1:", "1:1", "10:"
OVERHEAD_BYTES = 24
"""Preamble 8, frame check 4, gap 12."""
BURST_NS = 1_000_000
"""Burst that may be sent at once, as time at the rate: what a late timer is allowed to catch up."""
BURST_LEAST_BYTES = 3 * (1514 + OVERHEAD_BYTES)
UNLIMITED_BYTES = 1 << 30


def lines(device: str, rate_bps: int, buffer_bytes: int | None) -> Iterator[str]:
    """Shapes a device that has no qdisc yet."""
    yield f"qdisc add dev {device} root handle {ROOT} htb default 1"
    yield f"class add {_class(device, rate_bps)}"
    yield f"qdisc add {_queue(device, UNLIMITED_BYTES if buffer_bytes is None else buffer_bytes)}"


def change(device: str, rate_bps: int, burst_frames: int | None = None) -> str:
    """Gives a shaped device another rate, and perhaps a burst of so many full frames; what waits stays."""
    return f"class change {_class(device, rate_bps, burst_frames)}"


def room(device: str, buffer_bytes: int | None, *, silent: bool) -> str:
    """Lets a shaped device lose every frame, carrier and counters of the link as ever; or no longer."""
    # No frame fits into one byte: a queue is the one place where every kernel can lose packets without telling ports.
    limit = 1 if silent else UNLIMITED_BYTES if buffer_bytes is None else buffer_bytes
    return f"qdisc change {_queue(device, limit)}"


def _queue(device: str, limit_bytes: int) -> str:
    return f"dev {device} parent {CLASS} handle {QUEUE} bfifo limit {limit_bytes}"


def _class(device: str, rate_bps: int, burst_frames: int | None = None) -> str:
    burst = max(BURST_LEAST_BYTES, rate_bps * BURST_NS // 8_000_000_000)
    if burst_frames is not None:
        burst = burst_frames * (1514 + OVERHEAD_BYTES)
    rate = f"rate {rate_bps}bit ceil {rate_bps}bit"
    return (
        f"dev {device} parent {ROOT} classid {CLASS} htb {rate} burst {burst} cburst {burst} quantum 60000 "
        f"overhead {OVERHEAD_BYTES}"
    )
