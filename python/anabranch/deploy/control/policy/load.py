"""Paths by the bandwidth that is left on them: WCMP's weights over rates less what the ports' counters measure.

Fed back directly this oscillates, as ARPANET's first delay metric did (Khanna and Zinky, "The Revised ARPANET Routing
Metric", SIGCOMM 1989): a group sees its own traffic as load and runs away from it. So the group's part is taken out.
With shares w, measured utilisation rho and T the shares by residual bandwidth, the estimate is

    e = w + (1 - rho) (T - w).

Let paths have capacity c_i, foreign load b_i, and d w_i of the group, A = sum(c - b), rho = d / A. Then
T_i = (c_i - b_i - d w_i) / (A - d), and e_i = (c_i - b_i) / A: what others leave, whatever w is. Where some of the load
is foreign, the measured rho is larger than d / A, the step is shorter, and w comes nearer by the factor sum(b) / sum(c)
without passing by; w = T is the only rest. As in Khanna and Zinky's section 4, estimates are averaged (exponentially,
`smoothing`), and what is installed changes only if T is off by more than `threshold`. No path is thought to have less
than `floor` of its rate left, so that none is given up for load alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch import _core
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import Policy, SwitchPlan, View
from anabranch.deploy.control.rules import Members, Rules, Weigher, Weights

UNITS = 1000
"""Shares are installed in thousandths."""

Pair = tuple[str, str]


@dataclass
class _Group:
    """One group's shares, by member."""

    capacity: Members
    """WCMP's weights by rate: other ones begin anew."""
    installed: list[float]
    estimate: list[float] | None = None


class Load(Policy):
    """Policy that shifts weights between paths by the load of their links."""

    def __init__(self, file: FabricFile, smoothing: float, threshold: float, floor: float) -> None:
        self._smoothing = smoothing
        self._threshold = threshold
        self._floor = floor
        self._rules = Rules(file)
        self._by_rate, self._by_residual = (Weigher(file.topology, by_capacity=True) for _ in range(2))
        self._groups: dict[Pair, _Group] = {}
        self._measurements = 0

    def plan(self, view: View) -> Mapping[str, SwitchPlan]:
        """Plans weights from the latest loads (`policy.Policy`)."""
        capacity = _by_pair(self._by_rate.weigh(view.up, view.rate_bps))
        for pair, members in capacity.items():
            group = self._groups.get(pair)
            if group is None or group.capacity != members:
                shares = self._observed_shares(pair, members, view) if group is None else None
                self._groups[pair] = _Group(members, shares or _shares(members))
        for pair in self._groups.keys() - capacity.keys():
            del self._groups[pair]
        if view.measurements != self._measurements:
            self._measurements = view.measurements
            self._learn(view)
        weights: dict[str, dict[str, Members]] = {}
        for (switch, leaf), group in self._groups.items():
            weights.setdefault(switch, {})[leaf] = _weights(group)
        return self._rules.plan(view, weights)

    def installed(self, view: View) -> Mapping[Pair, Mapping[int, float]]:
        """The shares of groups that are not known yet (`policy.Policy`)."""
        capacity = _by_pair(self._by_rate.weigh(view.up, view.rate_bps))
        return {pair: self._rules.observed_shares(*pair, view) for pair in capacity.keys() - self._groups.keys()}

    def _learn(self, view: View) -> None:
        """Takes one measurement."""
        left = tuple(
            round(max(rate - load, self._floor * rate)) for rate, load in zip(view.rate_bps, view.load_bps, strict=True)
        )
        residual = _by_pair(self._by_residual.weigh(view.up, left))
        into = {leaf: self._into(leaf, view) for leaf in view.topology.leaf_index}
        for pair, group in self._groups.items():
            ports = [port for port, _ in group.capacity]
            if len(ports) < 2:
                continue
            busy = min(1.0, max(_utilisation(ports, view), into[pair[1]]))
            targets = _shares(residual[pair])
            sample = [w + (1 - busy) * (t - w) for w, t in zip(group.installed, targets, strict=True)]
            before = group.estimate or sample
            group.estimate = [old + self._smoothing * (new - old) for old, new in zip(before, sample, strict=True)]
            step = max(abs(e - w) for e, w in zip(group.estimate, group.installed, strict=True))
            if step > self._threshold * max(1 - busy, self._floor):
                group.installed = group.estimate

    def _into(self, leaf: str, view: View) -> float:
        """Utilisation of the links that lead to a leaf from other switches."""
        topology = view.topology
        ports = (topology.reverse[port] for port in topology.ports_of[leaf])
        return _utilisation([port for port in ports if not topology.is_host(topology.ends[port].node)], view)

    def _observed_shares(self, pair: Pair, members: Members, view: View) -> list[float] | None:
        """The shares that a controller before this one has installed; None if they are the capacities', or unknown."""
        observed = self._rules.observed_shares(*pair, view)
        numbers = [view.openflow_port.get(port) for port, _ in members]
        if not observed or set(observed) != set(numbers):
            return None
        shares = [observed[number] for number in numbers if number is not None]
        same = all(abs(a - b) < 0.5 / UNITS for a, b in zip(shares, _shares(members), strict=True))
        return None if same else shares


def _by_pair(weights: Weights) -> dict[Pair, Members]:
    return {(switch, leaf): members for switch, towards in weights.items() for leaf, members in towards.items()}


def _utilisation(ports: list[int], view: View) -> float:
    """Load over rate of the ports that are up, together."""
    living = [port for port in ports if view.up[port]]
    return sum(view.load_bps[port] for port in living) / max(1, sum(view.rate_bps[port] for port in living))


def _shares(members: Members) -> list[float]:
    total = max(1, sum(weight for _, weight in members))
    return [weight / total for _, weight in members]


def _weights(group: _Group) -> Members:
    """Planned weights: thousandths by Webster's rule, or WCMP's own as long as they are what is installed."""
    if group.installed == _shares(group.capacity):
        return group.capacity
    written = [str(round(1e9 * share)) for share in group.installed]
    units = _core.webster_slots(written, [True] * len(written), UNITS)
    return tuple((port, unit) for (port, _), unit in zip(group.capacity, units, strict=True))


def build(file: FabricFile) -> Load:
    """The policy.

    Raises:
        AnabranchError: a setting is not as it must be.

    """
    settings = file.policy_settings()
    smoothing = settings.number("smoothing", 0.3, 0.01, 1.0, "Weight of the newest measurement in the average.")
    threshold = settings.number(
        "threshold", 0.05, 0.0, 0.5, "Difference of shares from which installed ones are changed."
    )
    floor = settings.number("floor", 0.05, 0.001, 0.5, "Part of a path that counts as free even if it is full.")
    settings.end()
    return Load(file, smoothing, threshold, floor)
