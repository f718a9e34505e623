"""Observations of an agent: a row per next hop of a switch, or one row for a connection of a host."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch._core import Ack, Connection, Group, Member, Packet, View

WEIGHTS, PATH, REPATH = "weights", "path", "repath"
FEATURES = {
    WEIGHTS: ("queue_us", "utilisation", "age", "up"),
    PATH: ("queue_us", "share", "age", "up"),
    REPATH: ("rtt_us", "marked", "age", "up"),
}
"""Columns of an observation, by the kind of action.

At switches `queue_us` is the time in microseconds that the bytes waiting at the port take to leave, `utilisation` the
part of the last epoch in which the port was sending, `share` the part of the group's last decisions that went there,
`age` epochs since the port sent anything, or decisions since one went there, and `up` 1 if it may be used; rows that
a group lacks are zeros. At hosts `rtt_us` is the last round-trip time in microseconds, `marked` the part of the round
trip's bytes that were marked, `age` round trips since the path was changed, and `up` 1.
"""
RECENT = 64
"""Number of a group's last decisions that `share` looks at."""
AGE_MAX = 1_000.0

Seen = npt.NDArray[np.float32]


class Sight:
    """Observations of one simulation, with the memory behind them."""

    def __init__(self, topology: Mapping[str, Any], rows: int) -> None:
        self._rows = rows
        names, ports = topology["nodes"]["name"], topology["ports"]
        ends = zip(ports["from"], ports["to"], ports["rate_bps"], strict=True)
        self._rate_bps = {(names[source], names[target]): float(rate) for source, target, rate in ends}
        self._ages: dict[int, Seen] = {}
        self._asked_ns: dict[int, int] = {}
        self._recent: dict[int, deque[int]] = {}

    def of_group(self, group: Group, stats: Sequence[Member]) -> Seen:
        """Sees a group at the end of an epoch, shape (rows, 4)."""
        seen, ages = self._blank(), self._ages_of(group.number)
        epoch_ns = group.now_ns - self._asked_ns.get(group.number, group.now_ns)
        self._asked_ns[group.number] = group.now_ns
        for row, member in enumerate(stats):
            ages[row] = 0.0 if member.sent_bytes else min(ages[row] + 1.0, AGE_MAX)
            rate = max(member.rate_bps, 1)
            used = 8e9 * member.sent_bytes / rate / epoch_ns if epoch_ns else 0.0
            seen[row] = (8e6 * member.backlog_bytes / rate, used, ages[row], member.up)
        return seen

    def of_view(self, view: View) -> Seen:
        """Sees the members of a group for one decision, shape (rows, 4)."""
        seen, ages = self._blank(), self._ages_of(view.group)
        recent = self._recent.setdefault(view.group, deque(maxlen=RECENT))
        for row, name in enumerate(view.members):
            rate = self._rate_bps[view.switch, name]
            share = recent.count(row) / len(recent) if recent else 0.0
            seen[row] = (8e6 * view.backlog(row) / rate, share, ages[row], view.up(row))
        return seen

    def decided(self, view: View, member: int) -> None:
        """Remembers a decision."""
        ages = self._ages_of(view.group)
        np.minimum(ages + 1.0, AGE_MAX, out=ages)
        ages[member] = 0.0
        self._recent.setdefault(view.group, deque(maxlen=RECENT)).append(member)

    def _blank(self) -> Seen:
        return np.zeros((self._rows, 4), dtype=np.float32)

    def _ages_of(self, group: int) -> Seen:
        return self._ages.setdefault(group, np.zeros(self._rows, dtype=np.float32))


class RoundTrips:
    """Round trips of one connection, as its sender counts them."""

    def __init__(self) -> None:
        self.bytes = self.marked_bytes = self.age = 0

    def of_ack(self, ack: Ack) -> Seen | None:
        """Counts an acknowledgement; the observation, shape (1, 4), if it ends a round trip."""
        self.bytes += ack.bytes
        self.marked_bytes += ack.marked_bytes
        if not ack.round_ended or not self.bytes:
            return None
        seen = np.array([[ack.rtt_ns / 1e3, self.marked_bytes / self.bytes, min(self.age, AGE_MAX), 1.0]], np.float32)
        self.bytes = self.marked_bytes = 0
        self.age += 1
        return seen


def facts_of_switch(asked: Group | View, packet: Packet | None = None) -> dict[str, Any]:
    """Facts beside an observation: switch, members, group, time, and of a path the packet's."""
    known = {
        "switch": asked.switch,
        "members": tuple(asked.members),
        "group": asked.number if isinstance(asked, Group) else asked.group,
        "now_ns": asked.now_ns,
    }
    if packet is not None:
        known |= {"flow": packet.flow, "size_bytes": packet.size_bytes, "destination_leaf": packet.destination_leaf}
    return known


def facts_of_host(connection: Connection) -> dict[str, Any]:
    """Facts beside an observation: flow, its size, its hosts, time."""
    return {
        "flow": connection.flow,
        "size_bytes": connection.size_bytes,
        "src": connection.src,
        "dst": connection.dst,
        "now_ns": connection.now_ns,
    }
