"""Verdicts on cables and the fabric that follows from them, on a clock and wires of the test's own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.control import file
from anabranch.deploy.control.as_wired import as_written, placement
from anabranch.deploy.control.cable import LOSING, MISWIRED, RIGHT, UNCHECKED, UNHEARD, WAITING
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.network import NOWHERE, Network
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.control.wiring import MISSES, Wiring
from anabranch.deploy.openflow.port import Port
from anabranch.deploy.wiring.frame import Advertisement

INTERVAL_S = 2.0


def text(leaves: int = 2, spines: int = 2, parallel: int = 1) -> str:
    lines = [f"[fabric]\nkind = 'leaf-spine'\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = 1"]
    lines += [f"parallel_links = {parallel}"]
    sides = [(f"leaf{i}", [f"spine{j}" for j in range(spines)]) for i in range(leaves)]
    sides += [(f"spine{j}", [f"leaf{i}" for i in range(leaves)]) for j in range(spines)]
    for switch, neighbours in sides:
        ports = {other: [f"{switch}-{other}-{k}" for k in range(parallel)] for other in neighbours}
        if switch.startswith("leaf"):
            ports[f"host{switch[4:]}"] = [f"{switch}-host"]
        short = {other: [f"p{at}-{name[-1]}" for name in names] for at, (other, names) in enumerate(ports.items())}
        named = ", ".join(f"{other} = {names}" for other, names in short.items())
        lines.append(f"[switch.{switch}]\nopenflow = 'unix:/{switch}'\nports = {{ {named} }}")
    return "\n".join(lines)


class Wires:
    """A fabric whose frames go by a table of the test's own, at moments of its own."""

    def __init__(self, leaves: int = 2, spines: int = 2, parallel: int = 1) -> None:
        self.now_s = 100.0
        self.file = file.parse(text(leaves, spines, parallel), "fabric.toml")
        self.topology = self.file.topology
        self.events = Events()
        self.network = Network(self.file, self.events, lambda: self.now_s)
        self.wiring = Wiring(self.file, self.network, self.events, clock=lambda: self.now_s)
        self.is_lost: Callable[[int], bool] = lambda _: False
        """Whether a port's frame gets lost."""
        self.cables = dict(enumerate(self.topology.reverse))
        for switch, one in self.file.switches.items():
            ports = [Port(number, name, "", True, 0) for number, name in enumerate(one.interfaces.values())]
            self.network.described(switch, ports)
        for switch in self.file.switches:
            self.wiring.ready(switch, self.carry)

    def carry(self, port: int, frame: bytes) -> None:
        """Passes a frame on to where the cable leads."""
        if port in self.cables and not self.is_lost(port):
            self.wiring.hears(self.cables[port], frame)

    def intervals(self, count: int) -> None:
        """Lets time pass, and ports send."""
        for _ in range(count):
            self.now_s += INTERVAL_S
            self.wiring.send(self.wiring.verdicts())
            self.wiring.judge()

    def port(self, node: str, neighbour: str) -> int:
        """Our number of a port."""
        return next(p for p in self.topology.ports_of[node] if self.topology.ends[p].neighbour == neighbour)

    def swap(self, port: int, other: int) -> None:
        """Swaps the cables of two ports."""
        a, b = self.cables[port], self.cables[other]
        self.cables |= {port: b, b: port, other: a, a: other}


def on_a_loop(test: object) -> None:
    """Runs a test where a loop is; no time passes on it."""

    async def run() -> None:
        test()  # type: ignore[operator]

    asyncio.run(run())


def test_a_controller_that_slept_blames_no_cable() -> None:
    def test() -> None:
        wires = Wires()
        wires.intervals(1)
        assert set(wires.wiring.verdicts().values()) == {RIGHT}
        # Nothing was sent meanwhile: that nothing was heard says nothing.
        wires.now_s += 100 * INTERVAL_S
        wires.wiring.judge()
        assert UNHEARD not in wires.wiring.verdicts().values()
        wires.intervals(1)
        assert set(wires.wiring.verdicts().values()) == {RIGHT}
        assert not wires.events.counts["unheard"]
        # Enough was sent, and one end hears nothing.
        port = wires.port("leaf0", "spine0")
        del wires.cables[wires.topology.reverse[port]]
        wires.intervals(MISSES)
        assert wires.wiring.verdicts()[port] == RIGHT
        wires.intervals(2)
        assert Counter(wires.wiring.verdicts().values()) == {RIGHT: 7, UNHEARD: 1}
        assert wires.wiring.verdicts()[port] == UNHEARD

    on_a_loop(test)


def test_a_link_that_loses_half_of_our_frames_is_named_until_it_loses_none() -> None:
    def test() -> None:
        wires = Wires()
        wires.intervals(1)
        port = wires.port("leaf0", "spine0")
        fate = cycle((True, True, False, False))
        wires.is_lost = lambda sender: sender == wires.topology.reverse[port] and next(fate)
        wires.intervals(40)
        assert Counter(wires.wiring.verdicts().values()) == {RIGHT: 7, LOSING: 1}
        (text,) = (one.text for one in wires.wiring.cables if one.verdict == LOSING)
        assert text == "about 50 % of our frames from spine0 port p0-0 do not arrive at leaf0 port p0-0"
        # Silence of four intervals is of the loss, then.
        fate = cycle((True,) * 4 + (False,) * 4)
        wires.intervals(40)
        assert (wires.events.counts["losing"], wires.events.counts["unheard"]) == (1, 0)
        # It carries nothing at all: no share of it is lost.
        wires.is_lost = lambda sender: sender == wires.topology.reverse[port]
        wires.intervals(40)
        assert wires.wiring.verdicts()[port] == UNHEARD
        wires.is_lost = lambda _: False
        wires.intervals(40)
        assert Counter(wires.wiring.verdicts().values()) == {RIGHT: 7, LOSING: 1}
        wires.intervals(100)
        assert set(wires.wiring.verdicts().values()) == {RIGHT}
        assert wires.events.counts["loses-no-more"] >= 1

    on_a_loop(test)


def test_a_link_that_was_down_has_lost_nothing() -> None:
    def test() -> None:
        wires = Wires()
        wires.intervals(1)
        port = wires.port("leaf0", "spine0")
        number, name = next(
            (number, name)
            for number, (end, name) in enumerate(wires.file.switches["leaf0"].interfaces.items())
            if end.neighbour == "spine0"
        )
        for _ in range(60):
            # What was under way when the port went down does not arrive.
            wires.is_lost = lambda sender: sender == wires.topology.reverse[port]
            wires.intervals(1)
            for up in (False, True):
                wires.network.port_status("leaf0", Port(number, name, "", up, 0), "modify")
                wires.wiring.look()
            wires.is_lost = lambda _: False
            wires.intervals(2)
        assert set(wires.wiring.verdicts().values()) == {RIGHT}
        assert not wires.events.counts["losing"]

    on_a_loop(test)


def test_a_switch_that_passes_nothing_on_is_not_judged() -> None:
    def test() -> None:
        wires = Wires()
        wires.intervals(1)
        wires.wiring.away("spine0", "CAP_NET_RAW is missing")
        wires.intervals(2 * MISSES)
        of_spine = {cable.text for cable in wires.wiring.cables if "spine0" in (cable.switch, cable.neighbour)}
        assert of_spine == {"CAP_NET_RAW is missing"}
        assert wires.wiring.is_settled
        assert wires.events.counts["wiring-unchecked"] == 1

    on_a_loop(test)


def test_a_stranger_changes_its_name_no_more_than_once_an_interval() -> None:
    def test() -> None:
        wires = Wires()
        port = wires.port("leaf0", "spine0")
        wires.cables.pop(wires.topology.reverse[port])
        changes: list[int] = []
        wires.wiring.on_change = lambda: changes.append(1)
        for number in range(1000):
            wires.wiring.hears(port, Advertisement(f"x{number}", "y", 60).encode())
        assert len(changes) == 1
        assert '"x0" port "y"' in next(one.text for one in wires.wiring.cables if one.verdict == MISWIRED)
        wires.now_s += INTERVAL_S
        wires.wiring.hears(port, Advertisement("other", "y", 60).encode())
        assert '"other"' in next(one.text for one in wires.wiring.cables if one.verdict == MISWIRED)

    on_a_loop(test)


def test_plans_follow_a_swap_and_leave_out_what_is_nowhere() -> None:
    def test() -> None:
        wires = Wires()
        a0, a1 = wires.port("leaf0", "spine0"), wires.port("leaf0", "spine1")
        wires.swap(a0, a1)
        wires.intervals(1)
        follow = partial(placement, wires.topology)
        wires.network.rewire(follow(wires.wiring.verdicts(), wires.wiring.neighbours()))
        numbers = wires.network.openflow_ports("leaf0")
        assert (numbers[a0], numbers[a1]) == (wires.network.number(a1), wires.network.number(a0))
        assert all(link.up for link in wires.network.links)
        # A port goes down: the link that is there by now goes, not the one that the file has there.
        number = wires.network.number(a0)
        assert number is not None
        name = wires.file.switches["leaf0"].interfaces[wires.topology.ends[a0]]
        wires.network.port_status("leaf0", Port(number, name, "", False, 0), "modify")
        assert [(one.a, one.b) for one in wires.network.links if not one.up] == [("leaf0", "spine1")]
        wires.network.port_status("leaf0", Port(number, name, "", True, 0), "modify")
        # Two cables between the leaf and one spine, where the file has one.
        spare = wires.topology.reverse[a0]
        wires.cables |= {a1: wires.port("spine1", "leaf1"), wires.port("spine1", "leaf1"): a1}
        for gone in (spare, wires.port("leaf1", "spine1")):
            wires.cables.pop(gone)
        wires.intervals(2 * MISSES)
        found = follow(wires.wiring.verdicts(), wires.wiring.neighbours())
        wires.network.rewire(found)
        assert len(found.unused) == 1
        down = {(one.a, one.b): one.reason for one in wires.network.links if not one.up}
        assert down == {("leaf0", "spine0"): NOWHERE, ("leaf1", "spine1"): NOWHERE}
        wires.network.rewire(as_written(wires.topology))
        assert all(link.up for link in wires.network.links)

    on_a_loop(test)


@pytest.fixture(scope="module")
def topology() -> Topology:
    return file.parse(text(3, 2, 2), "fabric.toml").topology


@given(st.data())
def test_every_cable_that_a_link_can_be_at_has_one(topology: Topology, data: st.DataObject) -> None:
    """Links used between two switches: as many as there are cables and links, whichever is less."""
    ends = topology.ends
    hosts = [topology.is_host(end.node) or topology.is_host(end.neighbour) for end in ends]
    between = [port for port, is_host in enumerate(hosts) if not is_host]
    order = data.draw(st.permutations(between))
    cables = list(zip(order[::2], order[1::2], strict=True))
    heard = {port: other for a, b in cables for port, other in ((a, b), (b, a))}
    verdicts = {port: RIGHT if topology.reverse[port] == other else MISWIRED for port, other in heard.items()}
    found = placement(topology, verdicts, heard)
    assert sorted(found.at) == list(range(len(ends)))
    assert all(ends[port].node == ends[at].node for port, at in enumerate(found.at))
    used: Counter[frozenset[str]] = Counter()
    for index, (port, other) in enumerate(topology.links):
        if index not in found.absent and port in heard:
            assert heard[found.at[port]] == found.at[other]
            used[frozenset((ends[port].node, ends[other].node))] += 1
    laid = Counter(frozenset(ends[port].node for port in cable) for cable in cables)
    has = Counter(frozenset(ends[port].node for port in ports) for ports in topology.links if ports[0] in heard)
    assert used == laid & has
    assert len(found.unused) == (laid - has).total()
    # What is where it should be stays there.
    for port, other in heard.items():
        if topology.reverse[port] == other:
            assert found.at[port] == port


def test_cables_of_a_switch_that_will_send_wait_for_it() -> None:
    def test() -> None:
        wires = Wires()
        wires.intervals(1)
        ours, other = (wires.port(*ends) for ends in (("leaf0", "spine0"), ("spine0", "leaf0")))
        # Its session has ended: nothing is known, and nothing is waited for.
        wires.wiring.away("leaf0")
        wires.intervals(2 * MISSES)
        assert [wires.wiring.verdicts()[port] for port in (ours, other)] == [UNCHECKED] * 2
        # It is connected again, and does not pass frames on yet.
        wires.wiring.expect("leaf0")
        assert [wires.wiring.verdicts()[port] for port in (ours, other)] == [WAITING] * 2
        assert not wires.wiring.is_settled
        wires.intervals(2 * MISSES)
        assert [wires.wiring.verdicts()[port] for port in (ours, other)] == [WAITING] * 2
        wires.wiring.ready("leaf0", wires.carry)
        wires.intervals(1)
        assert set(wires.wiring.verdicts().values()) == {RIGHT}
        # What cannot send after all is not waited for.
        wires.wiring.away("leaf0")
        wires.wiring.expect("leaf0")
        wires.wiring.away("leaf0", "no privilege")
        assert wires.wiring.verdicts()[ours] == UNCHECKED
        assert wires.wiring.is_settled

    on_a_loop(test)
