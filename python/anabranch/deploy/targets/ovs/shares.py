"""The shares that a switch's groups really give their members, from the counters of their buckets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.port import BucketCounters
from anabranch.deploy.openflow.tables import Group


@dataclass
class Shares:
    """Bytes by group and port over the last interval."""

    _totals: dict[int, dict[int, int]] = field(default_factory=dict)
    """Since the group was made, by group and port."""
    _last: dict[int, dict[int, int]] = field(default_factory=dict)

    def measured(self, groups: Iterable[Group], counters: Iterable[BucketCounters]) -> None:
        """Takes a reading."""
        known = {group.group_id: group for group in groups}
        totals, last = {}, {}
        for counter in counters:
            group = known.get(counter.group_id)
            if group is None or len(group.buckets) != len(counter.bytes_):
                continue
            totals[group.group_id] = now = _by_port(group, counter)
            before = self._totals.get(group.group_id)
            if before is not None and before.keys() == now.keys():
                grown = {port: now[port] - before[port] for port in now}
                # A group that was made or written anew counts from zero.
                last[group.group_id] = now if min(grown.values(), default=0) < 0 else grown
        self._totals, self._last = totals, last

    def forget(self) -> None:
        """Begins anew."""
        self._totals, self._last = {}, {}

    def of(self, group_id: int) -> dict[int, int]:
        """Bytes by OpenFlow port; empty where there is no measurement."""
        return self._last.get(group_id, {})


def _by_port(group: Group, counter: BucketCounters) -> dict[int, int]:
    slots: dict[int, int] = {}
    for bucket, size in zip(group.buckets, counter.bytes_, strict=True):
        for action in bucket.actions:
            if isinstance(action, Output):
                slots[action.port] = slots.get(action.port, 0) + size
    return slots
