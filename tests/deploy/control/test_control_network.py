"""Link state from both ends, and damping."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.control import file
from anabranch.deploy.control.damping import CEILING_HALF_LIVES, Damper
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import Damping
from anabranch.deploy.control.network import Interface, Network
from anabranch.deploy.control.pages.health import reasons
from anabranch.deploy.control.progress import Progress
from anabranch.deploy.control.snapshot import snapshot
from anabranch.deploy.control.topology import End
from anabranch.deploy.control.wiring import Wiring
from anabranch.deploy.openflow.port import Port, PortCounters

FILE = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
[switch.leaf0]
openflow = "unix:/leaf0"
ports = { spine0 = "l0s0", host0 = "l0h0" }
[switch.leaf1]
openflow = "unix:/leaf1"
ports = { spine0 = "l1s0", host1 = "l1h1" }
[switch.spine0]
openflow = "unix:/spine0"
ports = { leaf0 = "s0l0", leaf1 = "a-name-of-more-than-15" }
"""


@dataclass
class Clock:
    """A time that tests set."""

    now_s: float = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


def network(settings: str = "") -> tuple[Network, Clock]:
    clock = Clock()
    return Network(file.parse(FILE + settings, "fabric.toml"), Events(), clock), clock


def port(number: int, name: str, up: bool = True, current_bps: int = 0) -> Port:
    return Port(number, name, "00:00:00:00:00:01", up, current_bps)


def state(found: Network, a: str, b: str) -> tuple[bool, str, int]:
    (link,) = [link for link in found.links if {link.a, link.b} == {a, b}]
    return link.up, link.reason, link.rate_bps


def test_a_link_is_down_if_either_end_says_so_and_as_fast_as_the_slower() -> None:
    found, _ = network()
    assert state(found, "leaf0", "spine0") == (True, "", 10**10)
    assert found.described("leaf0", [port(1, "l0s0"), port(2, "l0h0")]) is False
    assert found.described("spine0", [port(7, "s0l0", current_bps=10**9), port(8, "a-name-of-more-")]) is True
    assert state(found, "leaf0", "spine0") == (True, "", 10**9)
    assert found.port_status("spine0", port(7, "s0l0", up=False), "modify") is True
    assert state(found, "leaf0", "spine0")[:2] == (False, "spine0: port down")
    assert found.port_status("spine0", port(7, "s0l0"), "modify") is True
    assert found.port_status("leaf0", port(1, "l0s0"), "delete") is True
    assert state(found, "leaf0", "spine0")[:2] == (False, "leaf0: no such port")
    assert found.openflow_ports("leaf0").keys() == {found.topology.port[End("leaf0", "host0", 0)]}
    # The same interface comes back under another number.
    assert found.port_status("leaf0", port(9, "l0s0"), "add") is True
    assert found.openflow_ports("leaf0")[found.topology.port[End("leaf0", "spine0", 0)]] == 9
    assert 8 in found.openflow_ports("spine0").values()


def test_a_switch_that_is_away_leaves_its_links_as_they_were() -> None:
    found, _ = network()
    found.described("spine0", [port(7, "s0l0", up=False), port(8, "a-name-of-more-")])
    found.unmeasured("spine0")
    assert state(found, "leaf0", "spine0")[0] is False
    assert state(found, "leaf1", "spine0")[0] is True


def test_databases_tell_of_rates_and_silent_loss() -> None:
    found, _ = network()
    rows = [Interface("l0s0", rate_bps=4 * 10**9), Interface("s0l0", link_speed_bps=10**9), Interface("foreign")]
    assert found.interfaces(["leaf0"], rows) is True
    # The row s0l0 is of a switch whose database this is not.
    assert state(found, "leaf0", "spine0")[2] == 4 * 10**9
    assert found.interfaces(["leaf0"], rows) is False
    assert found.interfaces(["leaf0"], [Interface("l0s0", bfd_down=True)]) is True
    assert state(found, "leaf0", "spine0")[:2] == (False, "leaf0: BFD down")


def test_loads_are_what_left_between_two_readings() -> None:
    found, clock = network()
    found.described("leaf0", [port(1, "l0s0"), port(2, "l0h0")])
    uplink = found.topology.port[End("leaf0", "spine0", 0)]
    found.measured("leaf0", [PortCounters(1, 0, 0, 0, 1000, 0, 0)])
    assert found.measure() is False
    clock.now_s += 2
    found.measured("leaf0", [PortCounters(1, 0, 0, 0, 3000, 0, 0), PortCounters(99, 0, 0, 0, 1, 0, 0)])
    assert found.measure() is True
    assert found.view({}).load_bps[uplink] == 8000
    # Counters that began anew are no load.
    clock.now_s += 1
    found.measured("leaf0", [PortCounters(1, 0, 0, 0, 10, 0, 0)])
    assert found.view({}).load_bps[uplink] == 0


def test_a_fabric_with_a_link_that_loses_packets_is_not_as_planned() -> None:
    found, clock = network()
    for switch, ports in (("leaf0", [port(1, "l0s0")]), ("spine0", [port(7, "s0l0"), port(8, "a-name-of-more-")])):
        found.described(switch, ports)
    events = Events()
    found._events = events
    sent = got = 0

    def health(seconds: int, arrives: float) -> tuple[bool, list[dict[str, str]]]:
        nonlocal sent, got
        for _ in range(seconds):
            sent, got = sent + 100_000, got + int(100_000 * arrives)
            found.measured("leaf0", [PortCounters(1, 0, 0, 7, sent, 0, 0)])
            clock.now_s += 0.6
            found.measured("spine0", [PortCounters(7, 0, 0, got, 5, 0, 0)])
            clock.now_s += 0.4
        fabric = file.parse(FILE + "[wiring]\nuse = false\n", "fabric.toml")
        seen = snapshot(fabric, found, {}, {}, Progress(plans=1), events, Wiring(fabric, found, events))
        return seen.converged, reasons(seen)

    assert health(20, 1.0) == (True, [])
    converged, (reason,) = health(20, 0.5)
    assert not converged
    assert reason["switch"] == "leaf0"
    assert "% of what leaves for spine0 does not arrive, by the counters of both ends" in reason["reason"]
    assert health(140, 1.0) == (True, [])
    assert events.counts["losing"] == events.counts["loses-no-more"] > 0
    # A port that is down carries nothing that could be lost.
    assert not health(20, 0.5)[0]
    found.port_status("spine0", port(7, "s0l0", up=False), "modify")
    assert health(0, 0.5) == (True, [])


def test_a_link_that_flaps_is_left_down_until_it_has_been_quiet() -> None:
    found, clock = network('[damping]\nsuppress = 2.9\nreuse = 1\nhalf_life = "10 s"')
    found.described("leaf0", [port(1, "l0s0"), port(2, "l0h0")])
    for _ in range(3):
        assert found.port_status("leaf0", port(1, "l0s0", up=False), "modify") is True
        clock.now_s += 0.1
        found.port_status("leaf0", port(1, "l0s0"), "modify")
    assert state(found, "leaf0", "spine0")[:2] == (False, "damped")
    assert found.port_status("leaf0", port(1, "l0s0", up=False), "modify") is False
    found.port_status("leaf0", port(1, "l0s0"), "modify")
    wakes_s = found.wakes_s()
    assert wakes_s is not None
    clock.now_s = wakes_s - 0.1
    assert found.refresh() is False
    clock.now_s = wakes_s
    assert found.refresh() is True
    assert state(found, "leaf0", "spine0")[:2] == (True, "")


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=50))
def test_damping_ends(gaps_s: list[float]) -> None:
    settings = Damping(suppress=3.0, reuse=1.0, half_life_s=5.0)
    damper, now_s = Damper(settings), 0.0
    for gap_s in gaps_s:
        now_s += gap_s
        damper.lost(1, now_s)
    wakes_s = damper.wakes_s()
    assert (wakes_s is not None) == damper.suppressed(1, now_s)
    if wakes_s is not None:
        assert now_s < wakes_s <= now_s + CEILING_HALF_LIVES * settings.half_life_s + 1e-6
        assert not damper.suppressed(1, wakes_s)
    assert not damper.suppressed(2, now_s)
