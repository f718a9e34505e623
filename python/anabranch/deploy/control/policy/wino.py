"""Wino: paths cut into microslices by what links have left (`plan.slices`); besides, weights from capacity.

A link has left what its rate exceeds the traffic that is in no slice (north-south traffic, and that of hosts that do
not mark) by: what left by the port, less what the slices' rules carried there. A path has the least of its links. All
is cut anew when a link's rate or state changes, and when a link has so much more or less left than it was cut for that
`hysteresis` of its rate is exceeded.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic
from typing import Any

from anabranch import _core
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import Policy, SwitchPlan, View
from anabranch.deploy.control.policy.equal import Weighed
from anabranch.deploy.control.rule_rates import RuleKey
from anabranch.deploy.control.slicing import Limits, Slicing
from anabranch.deploy.control.switch_kind import kind_of
from anabranch.deploy.targets.plan import slices
from anabranch.deploy.targets.plan.slices import Cut, Pair, Slices
from anabranch.files.errors import AnabranchError

MEASUREMENTS = 3
"""Measurements of which the median counts: Open vSwitch reports counters of rules within half a second, those of ports
at once, so that a burst of slices looks like traffic in no slice for one measurement."""

Leaves = tuple[str, str]


@dataclass(frozen=True)
class Options:
    """`[policy.wino]`."""

    cut: Cut
    limits: Limits
    hysteresis: float
    """Share of a link's rate."""
    retire_s: float
    """How long labels that ended are still forwarded as slices."""


@dataclass
class _Known:
    """Slices that were cut last for a pair of leaves."""

    slices: Slices
    labels: int
    """Labels that hosts may still use."""
    retires_s: float


class Wino(Policy):
    """Policy that gives each pair of leaves its slices (`policy.Policy`)."""

    counts_rules = True
    reads_tables = True

    def __init__(
        self,
        file: FabricFile,
        slicing: Mapping[str, Slicing[Any]],
        options: Options,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Has cut nothing yet; `slicing` is of each switch."""
        self._topology = file.topology
        self._slicing = slicing
        self._options = options
        self._clock = clock
        self._weighed = Weighed(file, by_capacity=True)
        self._sliced: dict[str, Any] = {}
        """Content of each switch for slices."""
        self._parts: dict[str, tuple[list[Pair], dict[str, Any]]] = {}
        """By source leaf, its pairs and what all switches hold for them."""
        self._plans: dict[str, tuple[SwitchPlan, Any, SwitchPlan]] = {}
        """By switch, the plan of weights, the content for slices, and the plan that came of both."""
        self._outside_bps = [0] * len(self._topology.ends)
        """By port, the traffic in no slice that slices were cut for."""
        self._measured_bps: list[deque[float]] = [deque(maxlen=MEASUREMENTS) for _ in self._outside_bps]
        self._measurements = 0
        self._known: dict[Leaves, _Known] = {}
        self._state: tuple[tuple[bool, ...], list[tuple[int, bool]], dict[int, int]] | None = None
        self._retires_s = math.inf
        self._pairs: dict[Leaves, Pair] = {}
        self._published: dict[Leaves, Pair] = {}
        self._paths: tuple[tuple[bool, ...], dict[Leaves, list[list[int]]]] = ((), {})
        self._prefixes = {
            leaf: tuple(str(network) for network in file.prefixes.get(leaf, ()) if network.version == 4)
            for leaf in self._topology.leaf_index
        }

    @property
    def pairs(self) -> Sequence[Pair]:
        """The slices of every pair of leaves, as planned last."""
        return tuple(self._pairs.values())

    def plan(self, view: View) -> Mapping[str, SwitchPlan]:
        """Plans slices for all pairs of leaves (`policy.Policy`)."""
        base = self._weighed.plan(view)
        self._measure(view)
        pairs = self._cut(view)
        if pairs is not self._pairs:
            self._pairs, self._sliced = pairs, self._rendered(pairs)
        return {switch: self._merged(switch, plan, self._sliced.get(switch)) for switch, plan in base.items()}

    def _rendered(self, pairs: Mapping[Leaves, Pair]) -> dict[str, Any]:
        """Content of each switch for slices; only leaves of which a pair has changed are rendered anew."""
        of_leaf: dict[str, list[Pair]] = {}
        for pair in pairs.values():
            of_leaf.setdefault(pair.source, []).append(pair)
        before, self._parts = self._parts, {}
        for leaf, own in of_leaf.items():
            known = before.get(leaf)
            self._parts[leaf] = known if known is not None and known[0] == own else (own, self._content(own))
        rendered: dict[str, Any] = {}
        for switch in self._topology.switches:
            parts = [content[switch] for _, content in self._parts.values() if switch in content]
            last = [content[switch] for _, content in before.values() if switch in content]
            if len(parts) == len(last) and all(one is other for one, other in zip(parts, last, strict=True)):
                if switch in self._sliced:
                    rendered[switch] = self._sliced[switch]
            elif parts:
                rendered[switch] = self._slicing[switch].joined(parts)
        return rendered

    def _content(self, pairs: Sequence[Pair]) -> dict[str, Any]:
        """Content of all switches for the pairs of one source leaf, each in its own target's terms."""
        content: dict[str, Any] = {}
        for slicing in dict.fromkeys(self._slicing.values()):
            sliced = slicing.content(pairs, self._options.limits)
            content |= {switch: one for switch, one in sliced.items() if self._slicing[switch] is slicing}
        return content

    def labels(self, observed: Mapping[str, Any]) -> Mapping[str, object]:
        """The labels of each pair whose rules its leaf holds, else those published before."""
        pairs, sliced = self._pairs, self._sliced
        for leaves in pairs.keys() | self._published.keys():
            leaf = leaves[0]
            if leaf in observed and (leaf not in sliced or self._slicing[leaf].holds(observed[leaf], sliced[leaf])):
                if leaves in pairs:
                    self._published[leaves] = pairs[leaves]
                else:
                    del self._published[leaves]
        return slices.published(self._published.values(), self._prefixes)

    def _merged(self, switch: str, base: SwitchPlan, sliced: Any) -> SwitchPlan:
        """Both in one plan; the same object as before where neither changed."""
        before = self._plans.get(switch)
        if before is not None and before[0] is base and before[1] is sliced:
            return before[2]
        parts = [base.desired] if sliced is None else [base.desired, sliced]
        plan = SwitchPlan(self._slicing[switch].joined(parts), base.groups)
        self._plans[switch] = base, sliced, plan
        return plan

    def _measure(self, view: View) -> None:
        """Takes over loads that differ enough from those that slices were cut for."""
        if view.measurements == self._measurements:
            return
        self._measurements = view.measurements
        rates = self._carried_bps(view)
        for port, (load_bps, rate_bps) in enumerate(zip(view.load_bps, view.rate_bps, strict=True)):
            self._measured_bps[port].append(max(0.0, load_bps - rates.get(port, 0.0)))
            measured_bps = int(median(self._measured_bps[port]))
            before_bps, hysteresis = self._outside_bps[port], self._options.hysteresis
            self._outside_bps[port] = _core.outside_bps(before_bps, measured_bps, int(rate_bps), hysteresis)

    def _carried_bps(self, view: View) -> dict[int, float]:
        """Rate of what left each port through slices: a rule's counter has what its meter dropped as well."""
        ports = {(self._topology.ends[port].node, number): port for port, number in view.openflow_port.items()}
        rates: dict[int, float] = {}
        rules: dict[str, dict[RuleKey, float]] = {}
        for (switch, rule), bps in view.rule_bps.items():
            rules.setdefault(switch, {})[rule] = bps
        for switch, sliced in self._sliced.items():
            for number, bps in self._slicing[switch].carried_bps(sliced, rules.get(switch, {})).items():
                port = ports.get((switch, number))
                if port is not None:
                    rates[port] = rates.get(port, 0.0) + bps
        return rates

    def _cut(self, view: View) -> dict[Leaves, Pair]:
        """The slices of every pair; the same object as before where nothing has changed and no label's time is over."""
        now_s = self._clock()
        left = [(max(0, int(rate) - out), out > 0) for rate, out in zip(view.rate_bps, self._outside_bps, strict=True)]
        state = view.up, left, dict(view.openflow_port)
        if state == self._state and now_s < self._retires_s:
            return self._pairs
        self._state = state
        cuts = {}
        for leaves, paths in self._leaf_paths(view.up).items():
            hops = [self._hops(path, view) for path in paths]
            cut = self._options.cut.slices([min(left[port] for port in path) for path in paths]) if paths else None
            if cut is None or not all(path_hops[0][0] == leaves[0] for path_hops in hops):
                # No slices, or a leaf that was not reached: its packets take the group, hosts need not mark.
                self._known.pop(leaves, None)
                continue
            labels = self._labels_known(leaves, cut, view, now_s)
            source, destination = leaves
            prefixes = self._prefixes[source], self._prefixes[destination]
            cuts[leaves] = Pair(source, destination, *prefixes, tuple(hops), cut, labels)
        waiting = [known.retires_s for known in self._known.values() if known.labels > len(known.slices.path_of)]
        self._retires_s = min(waiting, default=math.inf)
        return cuts

    def _labels_known(self, leaves: Leaves, cut: Slices, view: View, now_s: float) -> int:
        """Labels of a pair that hosts may still use."""
        known, count = self._known.get(leaves), len(cut.path_of)
        if known is None:
            observed = view.observed.get(leaves[0])
            last = 0 if observed is None else self._slicing[leaves[0]].last_label(observed, self._prefixes[leaves[1]])
            known = self._known[leaves] = _Known(cut, max(count, last), now_s + self._options.retire_s)
        elif known.slices != cut:
            known.labels = max(known.labels, len(known.slices.path_of), count)
            known.slices, known.retires_s = cut, now_s + self._options.retire_s
        elif now_s >= known.retires_s:
            known.labels = count
        return known.labels

    def _hops(self, path: list[int], view: View) -> tuple[tuple[str, int], ...]:
        """Switches of a path and the ports to leave by; those that were not reached are left out."""
        return tuple(
            (self._topology.ends[port].node, view.openflow_port[port]) for port in path if port in view.openflow_port
        ) or (("", 0),)

    def _leaf_paths(self, up: tuple[bool, ...]) -> dict[Leaves, list[list[int]]]:
        """Shortest paths of every pair of leaves with prefixes, over the links that are up."""
        if self._paths[0] != up:
            fabric, number = self._topology.fabric, self._topology.number
            leaves = [leaf for leaf, prefixes in self._prefixes.items() if prefixes]
            pairs = [(a, b) for a in leaves for b in leaves if a != b]
            self._paths = up, {(a, b): fabric.paths(list(up), number[a], number[b]) for a, b in pairs}
        return self._paths[1]


def build(file: FabricFile, clock: Callable[[], float] = monotonic) -> Wino:
    """The policy.

    Raises:
        AnabranchError: a key of `[policy.wino]` is not as it must be, or a switch has no rules to cut slices by.

    """
    slicing = _slicing(file)
    settings = file.policy_settings()
    meaning = "Least slice; the paper's bound for meters that err by less than 2 % over 15 ms. A path with less is not"
    slice_min_bps = settings.rate_bps("slice_min", 7_000_000, f"{meaning} sliced.")
    meaning = "Largest slice; the paper's testbed has 1 Gbps on links of 10."
    slice_max_bps = settings.rate_bps("slice_max", 0, meaning, otherwise="none")
    meaning, default = "What paths have left is rounded down to multiples of it.", "10 Mbps; 1 Mbps below 1 Gbps"
    quantum_bps = settings.rate_bps("quantum", 0, meaning, otherwise=default)
    meaning = "Bits of labels, of the six of DSCP: 63 slices for a pair of leaves."
    label_bits = settings.integer("label_bits", slices.DSCP_BITS, 1, slices.DSCP_BITS, meaning)
    meaning = (
        "Slice size where the common divisor is below `slice_min`, makes too many slices, or is one of measured "
        "rates: the size that loses least to waste and meters, the least allowed, or the one that wastes least."
    )
    pick = settings.one_of("pick", slices.PICKS[0], slices.PICKS, meaning)
    meaning = "Whether slices have limits. A meter drops; without meters slices are weighted spraying."
    meters = settings.flag("meters", True, meaning)
    meaning = "Burst of a meter, as time at its rate; two frames at least."
    burst_s = settings.duration_s("burst", slices.BURST_S, 0.001, 10.0, meaning)
    meaning = "Largest frame in bytes, for that least burst."
    frame_bytes = settings.integer("frame", slices.FRAME_BYTES, 64, 1 << 16, meaning)
    meaning = "Part of a link's rate by which other traffic must change until slices are cut anew."
    hysteresis = settings.number("hysteresis", 0.05, 0.0, 1.0, meaning)
    meaning = "Time for which labels that ended are still forwarded as slices."
    retire_s = settings.duration_s("retire", 10.0, 0.0, 3600.0, meaning)
    settings.end()
    try:
        cut = Cut(slice_min_bps, slice_max_bps or None, quantum_bps or None, label_bits, pick, burst_s, frame_bytes)
    except AnabranchError as error:
        raise AnabranchError(f"{file.file}: policy.wino.{error}") from None
    options = Options(cut, Limits(meters, burst_s, frame_bytes), hysteresis, retire_s)
    return Wino(file, slicing, options, clock)


def _slicing(file: FabricFile) -> dict[str, Slicing[Any]]:
    """The slicing of each switch; switches of one target share theirs.

    Raises:
        AnabranchError: a switch cannot have slices.

    """
    of_target = {target: kind_of(target).slicing(file) for target in {one.target for one in file.switches.values()}}
    slicing: dict[str, Slicing[Any]] = {}
    for name, switch in file.switches.items():
        able = of_target[switch.target]
        if able is None:
            problem = f"slices are rules and meters of OpenFlow, and {name} is {kind_of(switch.target).noun}"
            raise AnabranchError(f"{file.file}: policy.weights: wino: {problem}; take capacity, equal or load")
        slicing[name] = able
    return slicing
