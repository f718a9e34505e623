"""A switch's ports: their state, speed and counters (OpenFlow 1.5.1 sections 7.2.1, 7.3.5.6, 7.4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.deploy.openflow.match import Match


@dataclass(frozen=True)
class Port:
    """One port as the switch describes it."""

    number: int
    name: str
    hardware_address: str
    link_up: bool
    """Whether neither the link nor, by configuration, the port is down."""
    current_bps: int
    """Current speed; 0 if the switch does not know it."""


@dataclass(frozen=True)
class PortCounters:
    """Counters of one port since it was created; 0 also if the switch does not count (all ones on the wire)."""

    number: int
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int
    tx_dropped: int


@dataclass(frozen=True)
class BucketCounters:
    """Counters of a group, bucket by bucket in the order of the group."""

    group_id: int
    packets: tuple[int, ...]
    bytes_: tuple[int, ...]


@dataclass(frozen=True)
class FlowCounters:
    """Counters of a rule."""

    table: int
    priority: int
    match: Match
    cookie: int
    packets: int
    bytes_: int
