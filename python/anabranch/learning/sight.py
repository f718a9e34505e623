"""What an agent sees at a switch: a row per next hop."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch._core import Group, Member, Packet, View

WEIGHTS, PATH = "weights", "path"
FEATURES = {
    WEIGHTS: ("queue_us", "utilisation", "age", "up"),
    PATH: ("queue_us", "share", "age", "up"),
}
"""Columns of an observation, by the kind of action.

`queue_us`: time that the bytes waiting at the port take to leave, in microseconds. `utilisation`: part of the last epoch
in which the port was sending. `share`: part of the switch's last decisions that went there. `age`: how old the last news
of the next hop is: epochs since the port sent anything, or decisions of the switch since one went there. `up`: 1 if it
may be used; next hops that a group lacks are rows of zeros.
"""
RECENT = 64
"""Number of a switch's last decisions that `share` looks at."""
AGE_MAX = 1_000.0

Seen = npt.NDArray[np.float32]


class Sight:
    """Observations of one simulation, with the memory behind them."""

    def __init__(self, topology: Mapping[str, Any], rows: int, epoch_ns: float) -> None:
        self._rows, self._epoch_ns = rows, epoch_ns
        names, ports = topology["nodes"]["name"], topology["ports"]
        ends = zip(ports["from"], ports["to"], ports["rate_bps"], strict=True)
        self._rate_bps = {(names[source], names[target]): float(rate) for source, target, rate in ends}
        self._ages: dict[int, npt.NDArray[np.float32]] = {}
        self._recent: dict[int, deque[int]] = {}

    def of_group(self, group: Group, stats: Sequence[Member]) -> Seen:
        """Sees a group at the end of an epoch, shape (rows, 4)."""
        seen = np.zeros((self._rows, 4), dtype=np.float32)
        ages = self._ages.setdefault(group.number, np.zeros(self._rows, dtype=np.float32))
        for row, member in enumerate(stats):
            ages[row] = 0.0 if member.sent_bytes else min(ages[row] + 1.0, AGE_MAX)
            rate = max(member.rate_bps, 1)
            used = 8e9 * member.sent_bytes / rate / self._epoch_ns
            seen[row] = (8e6 * member.backlog_bytes / rate, used, ages[row], member.up)
        return seen

    def of_view(self, view: View) -> Seen:
        """Sees the members for one decision, shape (rows, 4)."""
        seen = np.zeros((self._rows, 4), dtype=np.float32)
        ages = self._ages.setdefault(view.group, np.zeros(self._rows, dtype=np.float32))
        recent = self._recent.setdefault(view.group, deque(maxlen=RECENT))
        for row, name in enumerate(view.members):
            rate = self._rate_bps[view.switch, name]
            share = recent.count(row) / len(recent) if recent else 0.0
            seen[row] = (8e6 * view.backlog(row) / rate, share, ages[row], view.up(row))
        return seen

    def decided(self, view: View, member: int) -> None:
        """Remembers a decision."""
        ages = self._ages[view.group]
        np.minimum(ages + 1.0, AGE_MAX, out=ages)
        ages[member] = 0.0
        self._recent[view.group].append(member)


def facts(asked: Group | View, packet: Packet | None = None) -> dict[str, Any]:
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
