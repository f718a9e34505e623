"""Slices of a bridge as the policy asks for them: rules and meters, and what their counters say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anabranch.deploy.control.rule_rates import RuleKey
from anabranch.deploy.control.slicing import Limits, Slicing
from anabranch.deploy.openflow.action import Metered, Output, ToGroup
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.tables import Flow, Tables
from anabranch.deploy.targets.ovs import slices
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.session import rules as session_rules
from anabranch.deploy.targets.ovs.split import PATHS_MAX, SPLITS_MAX
from anabranch.deploy.targets.plan.slices import Pair

LEAVES_MAX = (slices.FIRST_GROUP - SPLITS_MAX) // PATHS_MAX
"""Leaves of a fabric at most under `multipath`, whose groups would else have the numbers of failover groups."""


class RulesSlicing(Slicing[Tables]):
    """Slices as groups, flows and meters of bridges (`control.slicing`)."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    def content(self, pairs: Sequence[Pair], limits: Limits) -> dict[str, Tables]:
        """Rules, meters and failover groups."""
        return slices.tables(
            pairs,
            self._ownership,
            meters=limits.meters,
            burst_s=limits.burst_s,
            frame_bytes=limits.frame_bytes,
        )

    def joined(self, parts: Sequence[Tables]) -> Tables:
        """All rules, groups and meters."""
        return session_rules.joined(parts)

    def holds(self, observed: Tables, sliced: Tables) -> bool:
        """Whether all rules are there."""
        return sliced.flows <= observed.flows

    def last_label(self, observed: Tables, prefixes: Sequence[str]) -> int:
        """The highest label that a rule of slices matches."""
        towards = {Match.of(ip_dst=prefix).fields[0] for prefix in prefixes}
        return max(
            (
                flow.match.as_mapping["ip_dscp"][0]
                for flow in observed.flows
                if flow.cookie & slices.COOKIE and not towards.isdisjoint(flow.match.fields)
            ),
            default=0,
        )

    def carried_bps(self, sliced: Tables, rule_bps: Mapping[RuleKey, float]) -> dict[int, float]:
        """Rate of what each rule matched, but no more than its meter lets through."""
        first = {group.group_id: group.buckets[0].watch_port for group in sliced.groups}
        limit = {meter.meter_id: 1000.0 * meter.rate_kbps for meter in sliced.meters}
        through: dict[tuple[int, int | None], float] = {}
        for flow in sliced.flows:
            key = _path(flow, first)
            through[key] = through.get(key, 0.0) + rule_bps.get(flow.key, 0.0)
        rates: dict[int, float] = {}
        for (number, meter), bps in through.items():
            rates[number] = rates.get(number, 0.0) + (bps if meter is None else min(bps, limit[meter]))
        return rates


def _path(flow: Flow, first: Mapping[int, int]) -> tuple[int, int | None]:
    """The port and the meter of a slice's rule; `first` is the preferred port of failover groups."""
    port, meter = 0, None
    for action in flow.actions:
        match action:
            case Metered(meter_id=number):
                meter = number
            case Output(port=number):
                port = number
            case ToGroup(group_id=number):
                port = first[number]
            case _:
                pass
    return port, meter
