"""The paper's experiments (sections IV.A to IV.D), by what a link carries; and its senders' ways to tell a loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PAIRS = 4
"""Pairs of hosts; each has a link's rate to itself, and all together the four links of a stage."""
RATIOS = (0.5, 0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5)
"""`bw_ratio` of section IV.C: what connection i has of the basic rate, i modulo 10."""
SIZES = (1, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.95)
"""`pkt_size_ratio` of section IV.D: its packets, of 1500 bytes."""
PACKET = 1500


@dataclass(frozen=True)
class Case:
    """One experiment."""

    name: str
    section: str
    per_pair: int
    """Connections of each pair of hosts."""
    basic: float
    """Target rate of a connection, of a link's; payload, as iPerf3 has it."""
    ratios: tuple[float, ...] = (1,)
    sizes: tuple[float, ...] = (1,)

    def rate(self, number: int) -> float:
        """Target of a connection, of a link's rate."""
        return self.basic * self.ratios[number % len(self.ratios)]

    def packet_bytes(self, number: int) -> int:
        """Bytes of a connection's packets."""
        return round(PACKET * self.sizes[number % len(self.sizes)])

    @property
    def offered(self) -> float:
        """All targets, of what a stage has."""
        return sum(self.rate(number) for number in range(self.per_pair))

    @property
    def what(self) -> str:
        """Description for people."""
        kind = "rates" if len(self.ratios) > 1 else "packet sizes" if len(self.sizes) > 1 else ""
        plural = "s" if self.per_pair > 1 else ""
        of = f" of unlike {kind}" if kind else ""
        return f"{PAIRS} x {self.per_pair} connection{plural}{of}, {self.offered:.0%} of the capacity offered"


HALF = Case("A half", "IV.A, Fig. 7a", 1, 0.5)
FULL = Case("A full", "IV.A, Fig. 7b", 1, 1.0)
CASES = (
    HALF,
    FULL,
    Case("B 40", "IV.B, Fig. 8a", 10, 0.1),
    Case("B 400", "IV.B, Fig. 8b", 100, 0.01),
    Case("C 40", "IV.C, Fig. 9a", 10, 0.2, ratios=RATIOS),
    Case("C 400", "IV.C, Fig. 9b", 100, 0.02, ratios=RATIOS),
    Case("D 40", "IV.D, Fig. 10a", 10, 0.2, sizes=SIZES),
    Case("D 400", "IV.D, Fig. 10b", 100, 0.02, sizes=SIZES),
)
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True)
class Recovery:
    """How senders tell that a packet is lost; the paper does not say which TCP it had."""

    name: str
    what: str
    sysctls: Mapping[str, str] = field(default_factory=dict)
    simulated: tuple[tuple[str, str], ...] = ()
    """`[transport]` of the simulator."""


THREE = {
    "net.ipv4.tcp_recovery": "0",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_max_reordering": "3",
}
RACK = Recovery(
    "RACK",
    "Linux as it is: losses told by time (RFC 8985)",
    {"net.ipv4.tcp_recovery": "1"},
    (("transport.rack", "true"),),
)
NO_RACK = Recovery(
    "recovery=0",
    "tcp_recovery=0, tcp_reordering=3 and never more",
    THREE,
    (("transport.rack", "false"), ("transport.dup_ack_threshold", "3")),
)
DUPLICATES = Recovery(
    "3 duplicates",
    "the same without SACK: three duplicate ACKs are a loss (RFC 6582)",
    THREE | {"net.ipv4.tcp_sack": "0"},
    (("transport.rack", "false"), ("transport.dup_ack_threshold", "3"), ("transport.sack", "false")),
)
