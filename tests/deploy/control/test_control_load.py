"""The policy by load, in a loop with a model of the traffic: it comes to rest where it should, and stays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from anabranch.deploy.control import file
from anabranch.deploy.control.policy import SwitchPlan, View, build
from anabranch.deploy.control.topology import End
from anabranch.deploy.targets.ovs.session.rules import seed_of

GBPS = 10**9
SWITCHES = {
    "leaf0": ["host0", "spine0", "spine1"],
    "leaf1": ["host1", "spine0", "spine1"],
    "leaf2": ["host2", "spine0", "spine1"],
    "spine0": ["leaf0", "leaf1", "leaf2"],
    "spine1": ["leaf0", "leaf1", "leaf2"],
}
FILE = '[fabric]\nkind = "leaf-spine"\nleaves = 3\nspines = 2\nhosts_per_leaf = 1\n[policy]\nweights = "load"\n'
for switch, neighbours in SWITCHES.items():
    named = ", ".join(f'{one} = "{switch}-{one}"' for one in neighbours)
    FILE += f'[switch.{switch}]\nopenflow = "unix:/{switch}"\nports = {{ {named} }}\n'


class Loop:
    """Traffic from leaf0 and leaf2 to leaf1 follows the shares planned; other traffic does not."""

    def __init__(
        self, demand_bps: float, foreign_bps: Mapping[End, float], senders: tuple[str, ...] = ("leaf0",)
    ) -> None:
        self.file = file.parse(FILE, "fabric.toml")
        self.topology = self.file.topology
        self.policy = build("load", self.file)
        self.demand_bps = demand_bps
        self.foreign_bps = foreign_bps
        self.senders = senders
        self.measurements = 0
        self.plan = self.policy.plan(self.view())

    def shares(self, sender: str) -> dict[str, float]:
        """Load by spine, towards leaf1."""
        (group,) = [group for group in self.plan[sender].groups if group.leaf == "leaf1"]
        total = sum(member.weight for member in group.members)
        return {self.topology.ends[one.port].neighbour: one.weight / total for one in group.members}

    def view(self, plan: Mapping[str, SwitchPlan] | None = None) -> View:
        """The network under the traffic as planned; idle without a plan."""
        load = [0.0] * len(self.topology.ends)
        for end, bps in self.foreign_bps.items():
            load[self.topology.port[end]] += bps
        for sender in self.senders if plan else ():
            for spine, share in self.shares(sender).items():
                for end in (End(sender, spine, 0), End(spine, "leaf1", 0)):
                    load[self.topology.port[end]] += share * self.demand_bps
        ports = range(len(load))
        up = tuple(True for _ in ports)
        rates = self.topology.rate_bps
        numbers = {port: port + 1 for port in ports}
        loads = tuple(min(bps, rate) for bps, rate in zip(load, rates, strict=True))
        return View(self.topology, up, rates, loads, numbers, {}, self.measurements)

    def run(self, intervals: int) -> list[dict[str, float]]:
        """The shares of leaf0 after each interval."""
        found = []
        for _ in range(intervals):
            self.measurements += 1
            self.plan = self.policy.plan(self.view(self.plan))
            found.append(self.shares("leaf0"))
        return found


def crossings(series: list[float], rest: float) -> int:
    """How often a series passes its rest by more than what is quantised."""
    signs = [value > rest for value in series if abs(value - rest) > 0.01]
    return sum(a != b for a, b in pairwise(signs))


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9, 1.2])
@pytest.mark.parametrize("senders", [("leaf0",), ("leaf0", "leaf2")])
def test_it_rests_at_what_others_leave_without_swinging(load: float, senders: tuple[str, ...]) -> None:
    # 6 of the 10 Gb/s by spine1 to leaf1 are taken: 10 and 4 are left.
    left_bps = 14 * GBPS
    foreign = {End("spine1", "leaf1", 0): 6.0 * GBPS}
    loop = Loop(load * left_bps / len(senders), foreign, senders)
    assert loop.shares("leaf0") == {"spine0": 0.5, "spine1": 0.5}
    history = [shares["spine0"] for shares in loop.run(400)]
    rest = 10 / 14
    assert crossings(history, rest) == 0
    assert history == sorted(history)
    if load < 1:
        # Above, all paths are full, and counters cannot tell how much more would come.
        assert history[-1] == pytest.approx(rest, abs=0.05)
    assert len(set(history[-100:])) == 1


def test_its_own_traffic_moves_nothing() -> None:
    loop = Loop(15.0 * GBPS, {})
    before = loop.plan["leaf0"]
    assert loop.run(20)[-1] == {"spine0": 0.5, "spine1": 0.5}
    # The same object: nobody looks at this switch again.
    assert loop.plan["leaf0"] is before


def test_it_goes_back_when_the_load_has_gone() -> None:
    foreign = {End("leaf0", "spine1", 0): 8.0 * GBPS}
    loop = Loop(1.0 * GBPS, foreign)
    assert loop.run(100)[-1]["spine0"] > 0.75
    foreign.clear()
    assert loop.run(100)[-1]["spine0"] == pytest.approx(0.5, abs=0.06)


def test_seeds_differ_between_switches_and_not_between_runs() -> None:
    assert seed_of("leaf0") == 0x4D5A9584D985E8FB
    assert len({seed_of(switch) for switch in SWITCHES}) == len(SWITCHES)
