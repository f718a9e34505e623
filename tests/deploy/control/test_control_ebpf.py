"""Datapaths in the kernel as the controller sees them: the file, plans, and a fabric that has both kinds of switch."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.control import file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import View, build
from anabranch.deploy.netlink.namespace import NAMED
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ebpf.folder import folder_of
from anabranch.deploy.targets.ebpf.session.groups import without
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys
from anabranch.deploy.targets.ebpf.switch import HOOK
from anabranch.lab.switches.ebpf import pins
from support.dummy_fabric import Running, dummy_fabric, members
from support.lab_fixture import need_kernel_lab

FABRIC = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
parallel_links = 2
[policy]
weights = "capacity"
[switch.leaf0]
datapath = "ebpf"
scheme = "flowlet"
pause = "200 us"
namespace = "fabric"
ports = { host0 = "h0", spine0 = ["a", "b"], spine1 = ["c", "d"] }
[switch.leaf1]
datapath = "ebpf"
ports = { host1 = "h0", spine0 = ["a", "b"], spine1 = ["c", "d"] }
[switch.spine0]
openflow = "unix:/spine0"
ports = { leaf0 = ["a", "b"], leaf1 = ["c", "d"] }
[switch.spine1]
openflow = "unix:/spine1"
ports = { leaf0 = ["a", "b"], leaf1 = ["c", "d"] }
[leaf.leaf1]
prefixes = ["10.1.1.0/24", "fd00:1::/64"]
[host.host0]
addresses = ["10.1.0.1", "fd00::1"]
[host.host1]
addresses = ["10.1.1.1", "10.9.9.9"]
"""


def view_of(found: FabricFile, dead: set[int] | None = None) -> View:
    topology = found.topology
    gone = (dead or set()) | {topology.reverse[port] for port in dead or ()}
    up = tuple(port not in gone for port in range(len(topology.ends)))
    numbers = {port: port + 1 for port in range(len(topology.ends))}
    return View(topology, up, topology.rate_bps, (0.0,) * len(up), numbers)


def ways(found: FabricFile, switch: str, neighbour: str) -> list[int]:
    """Our numbers of the links between two nodes, at the first."""
    topology = found.topology
    return [port for port in topology.ports_of[switch] if topology.ends[port].neighbour == neighbour]


def test_the_file_says_which_program_and_where() -> None:
    found = file.parse(FABRIC, "fabric.toml")
    assert found.switches["leaf0"].keys == DatapathKeys("flowlet", 200_000, "fabric")
    assert found.switches["leaf1"].keys == DatapathKeys("slots", 0, "")
    assert found.switches["spine0"].target == "ovs"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('scheme = "flowlet"', 'scheme = "flowlets"', r"switch.leaf0.scheme: flowlets: unknown; .*flowlet"),
        ('datapath = "ebpf"\nscheme', 'datapath = "p4"\nscheme', r"switch.leaf0.datapath: p4: unknown"),
        ('pause = "200 us"', 'openflow = "unix:/leaf0"', r"switch.leaf0.openflow"),
        ('pause = "200 us"', 'pause = "2 days"', r"switch.leaf0.pause: 2 days: give a time"),
        ('weights = "capacity"', 'weights = "wino"', r"policy.weights: wino: .*leaf0 is a datapath in the kernel"),
        ('openflow = "unix:/spine0"', 'scheme = "slots"', r"switch.spine0.*scheme"),
    ],
)
def test_what_cannot_be_is_refused(old: str, new: str, said: str) -> None:
    assert old in FABRIC
    with pytest.raises(AnabranchError, match=said):
        file.parse(FABRIC.replace(old, new, 1), "fabric.toml")


def test_plans_have_groups_for_the_kernel_and_tables_for_openflow() -> None:
    found = file.parse(FABRIC, "fabric.toml")
    plans = build("capacity", found).plan(view_of(found))
    assert isinstance(plans["spine0"].desired, Tables)
    assert plans["spine0"].desired.groups
    host, leaf = plans["leaf0"].desired
    uplinks = ways(found, "leaf0", "spine0") + ways(found, "leaf0", "spine1")
    assert (host.name, host.prefixes, len(host.targets)) == ("host0", ["10.1.0.1/32", "fd00::1/128"], 1)
    assert leaf.name == "leaf1"
    # An address outside the leaf's prefixes leads there too.
    assert set(leaf.prefixes) == {"10.1.1.0/24", "fd00:1::/64", "10.9.9.9/32"}
    assert (sorted(leaf.targets), leaf.weights, leaf.pause_ns) == (sorted(p + 1 for p in uplinks), [1] * 4, 200_000)
    assert leaf.seed != plans["leaf1"].desired[0].seed


def test_members_keep_their_places_when_others_die() -> None:
    found = file.parse(FABRIC, "fabric.toml")
    policy = build("capacity", found)
    before = policy.plan(view_of(found))["leaf0"].desired[1]
    uplinks = ways(found, "leaf0", "spine0") + ways(found, "leaf0", "spine1")
    after = policy.plan(view_of(found, {uplinks[0]}))["leaf0"].desired[1]
    assert after.targets == before.targets
    dead = before.targets.index(uplinks[0] + 1)
    assert [weight > 0 for weight in after.weights] == [number != dead for number in range(4)]
    # With none left, the group drops instead of leaving packets to somebody else.
    none = policy.plan(view_of(found, set(uplinks)))["leaf0"].desired[1]
    assert (none.targets, none.up) == (before.targets, [False] * 4)
    masked, untouched = without((before, none), frozenset({before.targets[1]}))
    assert masked.up == [True, False, True, True]
    assert masked.weights == before.weights
    assert untouched == none


def test_shares_by_load_outlive_the_controller() -> None:
    text = FABRIC.replace('weights = "capacity"', 'weights = "load"')
    found = file.parse(text, "fabric.toml")
    view = view_of(found)
    plain = build("load", found).plan(view)["leaf0"].desired[1]
    assert plain.weights == [1] * 4
    held = _core.KernelGroup(plain.name, plain.prefixes, plain.targets, [400, 100, 300, 200], [True] * 4, plain.output)
    again = build("load", found).plan(replace(view, observed={"leaf0": (held,)}))
    assert again["leaf0"].desired[1].weights == [400, 100, 300, 200]
    # They stand for other paths: begin anew.
    other = _core.KernelGroup(plain.name, plain.prefixes, [91, 92, 93, 94], [4, 1, 3, 2], [True] * 4, plain.output)
    assert build("load", found).plan(replace(view, observed={"leaf0": (other,)}))["leaf0"].desired[1].weights == [1] * 4


def test_weights_of_rates_without_a_divisor_fit() -> None:
    found = file.parse(FABRIC, "fabric.toml")
    view = view_of(found)
    uplinks = ways(found, "leaf0", "spine0") + ways(found, "leaf0", "spine1")
    rates = list(view.rate_bps)
    for number, port in enumerate(uplinks):
        rates[port] = rates[found.topology.reverse[port]] = 10_000_000_019 - 2_000_000_011 * number
    group = build("capacity", found).plan(replace(view, rate_bps=tuple(rates)))["leaf0"].desired[1]
    assert max(group.weights) < 1 << 16
    assert sum(_core.kernel_shares("slots", group)) == pytest.approx(1)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def namespace(*devices: str) -> Iterator[str]:
    """One with ends of veth pairs, whose other ends are in it too."""
    name = f"ebpf-test-{secrets.token_hex(4)}"
    ip("netns", "add", name)
    # The kernel uses the number again that a namespace of another test had, by which this one's folder is called.
    pins.remove([name], "nobody's")
    try:
        for number, device in enumerate(devices):
            ip("-n", name, "link", "add", device, "type", "veth", "peer", f"peer{number}")
            for end in (device, f"peer{number}"):
                ip("-n", name, "link", "set", end, "up")
        yield name
    finally:
        pins.remove([name], "nobody's")
        ip("netns", "del", name)


def test_a_fabric_may_have_both_kinds(tmp_path: Path) -> None:
    need_kernel_lab()
    devices = ("leaf0-host0", "leaf0-spine0", "leaf0-spine1")
    with namespace(*devices) as name, dummy_fabric(tmp_path) as fabric:
        openflow = f'openflow = "{fabric.open_vswitch.openflow("leaf0")}"\novsdb = "{fabric.open_vswitch.database}"'
        text = fabric.text()
        assert openflow in text
        text = text.replace(openflow, f'datapath = "ebpf"\nnamespace = "{name}"')
        folder = folder_of((NAMED / name).stat().st_ino) / "leaf0"

        async def run() -> None:
            async with Running(file.parse(text, "fabric.toml")) as running:
                snapshot = await running.converged()
                assert members(snapshot, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
                (state,) = (one for one in snapshot.switches if one.name == "leaf0")
                assert (state.groups, state.flows, state.address) == (2, 2, f"ebpf:slots in {name}")
                # Each kind learns of what the other has lost.
                ip("-n", name, "link", "set", "peer1", "down")
                snapshot = await running.until(lambda found: members(found, "leaf1", "leaf0") == {"spine1": 1})
                fabric.link("leaf1-spine1", up=False)
                await running.until(lambda found: members(found, "leaf0", "leaf1") == {})
                ip("-n", name, "link", "set", "peer1", "up")
                await running.until(lambda found: members(found, "leaf0", "leaf1") == {"spine0": 1})
                await running.converged()
                # A device that is made anew has another number, and is attached anew.
                ip("-n", name, "link", "del", "leaf0-spine0")
                await running.until(lambda found: not members(found, "leaf0", "leaf1"))
                ip("-n", name, "link", "add", "leaf0-spine0", "type", "veth", "peer", "peer1")
                ip("-n", name, "link", "set", "leaf0-spine0", "up")
                ip("-n", name, "link", "set", "peer1", "up")
                await running.until(lambda found: members(found, "leaf0", "leaf1") == {"spine0": 1})
                await running.converged()

        asyncio.run(run())
        found = _core.KernelDatapath.open(folder)
        assert found is not None
        # The controller has ended; what it put in place stays.
        assert [hook for _, hook, alive in found.attachments() if alive] == [HOOK] * 3
        assert [group.name for group in found.observed()] == ["host0", "leaf1"]


def test_a_namespace_that_another_has_the_name_of_is_left(tmp_path: Path) -> None:
    need_kernel_lab()
    devices = ("leaf0-host0", "leaf0-spine0", "leaf0-spine1")
    # No audit finds the datapath gone before the namespace is.
    seldom = '[measure]\ninterval = "50 ms"\naudit = "10 min"'
    with dummy_fabric(tmp_path, settings=seldom) as fabric, namespace(*devices) as name:
        openflow = f'openflow = "{fabric.open_vswitch.openflow("leaf0")}"\novsdb = "{fabric.open_vswitch.database}"'
        text = fabric.text().replace(openflow, f'datapath = "ebpf"\nnamespace = "{name}"')

        async def run() -> None:
            async with Running(file.parse(text, "fabric.toml")) as running:
                await running.converged()
                pins.remove([name], "nobody's")
                ip("netns", "del", name)
                await running.until(
                    lambda found: [one.name for one in found.switches if not one.connected] == ["leaf0"]
                )
                await running.until(
                    lambda found: any("gone" in one.last_error or name in one.last_error for one in found.switches)
                )
                # The others are served as ever.
                await running.until(lambda found: all(one.connected for one in found.switches if one.name != "leaf0"))
                ip("netns", "add", name)
                for number, device in enumerate(devices):
                    ip("-n", name, "link", "add", device, "type", "veth", "peer", f"peer{number}")
                    for end in (device, f"peer{number}"):
                        ip("-n", name, "link", "set", end, "up")
                await running.until(lambda found: found.converged and all(link.up for link in found.links))

        asyncio.run(run())
