"""A scenario's `[transport]` as Linux has it: congestion control, settings, connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.play import Options

CONGESTION_CONTROL = {"cubic": "cubic", "newreno": "reno"}
INITIAL_WINDOW = 10
"""Linux's (RFC 6928), which only a route changes."""
UNITS_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0, "ps": 1e-3}
"""In which the resolved scenario writes times."""
RTO_MIN = "net.ipv4.tcp_rto_min_us"
"""Since Linux 6.11."""


def options(resolved: Mapping[str, Any], stretch: float, congestion_control: str = "") -> Options:
    """How flows of a scenario are carried in a lab whose times are `stretch` times the scenario's.

    `congestion_control` is another one than the scenario's.

    Raises:
        AnabranchError: something that Linux's TCP, or a lab's queues, do not do.

    """
    transport = resolved["transport"]
    if any("transport" in entry for entry in resolved["traffic"]):
        raise AnabranchError("traffic.transport: a lab has one transport; leave it out and write [transport]")
    kind = transport["kind"]
    if not congestion_control:
        if kind not in CONGESTION_CONTROL:
            reason = "a lab's queues do not mark" if kind == "dctcp" else "a lab has TCP of one path"
            raise AnabranchError(f"transport.kind: {kind}: {reason}; take {' or '.join(CONGESTION_CONTROL)}")
        congestion_control = CONGESTION_CONTROL[kind]
    if transport.get("initial_window", INITIAL_WINDOW) != INITIAL_WINDOW:
        raise AnabranchError(
            f"transport.initial_window: {transport['initial_window']}: Linux has {INITIAL_WINDOW}; take that"
        )
    sysctls = {}
    if "sack" in transport:
        sysctls = {
            "net.ipv4.tcp_sack": str(int(transport["sack"])),
            "net.ipv4.tcp_recovery": str(int(transport["rack"])),
            "net.ipv4.tcp_reordering": str(transport["dup_ack_threshold"]),
            "net.ipv4.tcp_ecn": str(int(transport["ecn"])),
            RTO_MIN: str(round(stretch * time_ns(transport, "min_rto") / 1e3)),
        }
    persistent = transport.get("persistent", False)
    # Without a handshake the simulator's connections are there from the start.
    ready = persistent and not transport.get("handshake", True)
    return Options(
        persistent=persistent,
        connections_per_pair=int(ready),
        congestion_control=congestion_control,
        sysctls=sysctls,
    )


def time_ns(section: Mapping[str, Any], key: str) -> float:
    """A time of a resolved scenario."""
    number, unit = str(section[key]).split()
    return float(number) * UNITS_NS[unit]
