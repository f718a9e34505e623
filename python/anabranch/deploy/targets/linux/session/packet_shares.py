"""Shares that the groups of a kernel really give their nexthops, by the packets that it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.plan_file import WeightedHops

Packets = Mapping[int, Mapping[int, int]]
"""Packets by group and nexthop since the group was written."""


class PacketShares:
    """Packets of each group over the last interval."""

    def __init__(self) -> None:
        self._totals: Packets = {}
        self._last: Packets = {}

    def measured(self, totals: Packets) -> None:
        """Takes a reading."""
        last = {}
        for group, now in totals.items():
            before = self._totals.get(group)
            if before is not None and before.keys() == now.keys():
                grown = {nexthop: now[nexthop] - before[nexthop] for nexthop in now}
                # A group that is written anew counts from zero.
                last[group] = now if min(grown.values(), default=0) < 0 else grown
        self._totals, self._last = totals, last

    def forget(self) -> None:
        """Begins anew."""
        self._totals, self._last = {}, {}

    def of(self, groups: Collection[WeightedHops], state: LinuxState) -> Counter[str]:
        """Packets by device of some groups of a plan; empty where there is no measurement."""
        keys = {(prefix, one.table, one.metric) for one in groups for prefix in one.prefixes}
        numbers = {state.routes[key].nexthop_id for key in keys if key in state.routes}
        packets = Counter[str]()
        for number in numbers:
            for nexthop, count in self._last.get(number, {}).items():
                if nexthop in state.nexthops:
                    packets[state.nexthops[nexthop].hop.device] += count
        return packets
