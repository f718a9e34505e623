"""Rates of rules, from the counters that a policy asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import monotonic

from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.port import FlowCounters

RuleKey = tuple[int, int, Match]
"""Table, priority and match, as `Flow.key`."""


class RuleRates:
    """Rates of some rules of all switches, over the last measured interval."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._read: dict[str, tuple[float, dict[RuleKey, int]]] = {}
        self._bps: dict[str, dict[tuple[str, RuleKey], float]] = {}

    def measured(self, switch: str, counters: Iterable[FlowCounters]) -> None:
        """Takes a reading of the rules of one switch that count."""
        now_s = self._clock()
        bytes_by_rule = {(one.table, one.priority, one.match): one.bytes_ for one in counters}
        before_s, before = self._read.get(switch, (now_s, {}))
        self._read[switch] = now_s, bytes_by_rule
        if now_s > before_s:
            # A rule that is new, or was created anew, has counted from zero.
            since = {key: count - before.get(key, 0) for key, count in bytes_by_rule.items()}
            grown = {key: bytes_by_rule[key] if count < 0 else count for key, count in since.items()}
            self._bps[switch] = {(switch, key): 8 * count / (now_s - before_s) for key, count in grown.items()}

    def forget(self, switch: str) -> None:
        """Forgets a switch that can no longer be asked."""
        self._read.pop(switch, None)
        self._bps.pop(switch, None)

    @property
    def bps(self) -> Mapping[tuple[str, RuleKey], float]:
        """Rates by switch and rule."""
        return {key: value for rates in self._bps.values() for key, value in rates.items()}
