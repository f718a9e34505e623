"""Actions on a packet (OpenFlow 1.5.1 section 7.2.6)."""

from __future__ import annotations

from dataclasses import dataclass

IN_PORT = 0xFFFFFFF8
"""Output port that sends a packet back where it came from, which a plain port number does not do."""
CONTROLLER, LOCAL, ANY = 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF


@dataclass(frozen=True)
class Output:
    """Sends the packet by a port."""

    port: int


@dataclass(frozen=True)
class ToGroup:
    """Passes the packet to a group."""

    group_id: int


@dataclass(frozen=True)
class Metered:
    """Passes the packet through a meter, which may drop it (an action since OpenFlow 1.5; an instruction before)."""

    meter_id: int


@dataclass(frozen=True)
class SetField:
    """Overwrites a field of `match.FIELDS`."""

    field: str
    value: int


@dataclass(frozen=True)
class Multipath:
    """Puts a slot, from a hash modulo `slots`, into a register: Open vSwitch's own (`ovs-actions(7)`, multipath)."""

    algorithm: str
    """`symmetric_l4`, `symmetric_l3l4`, `symmetric_l3l4+udp`, `symmetric_l3`, `eth_src`, `nw_src`, `nw_dst`."""
    basis: int
    """Basis of the hash, 16 bits."""
    slots: int
    register: str


@dataclass(frozen=True)
class Foreign:
    """An action that another owner installed and that has no name here; kept as its bytes, padding included."""

    data: bytes


Action = Output | ToGroup | Metered | SetField | Multipath | Foreign
