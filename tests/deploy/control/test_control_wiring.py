"""Cables of real switches as LLDP frames find them: as written, swapped in the file and by hand, laid anew, joined."""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from anabranch.deploy.control.cable import CableState
from anabranch.deploy.control.pages.health import reasons
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.wiring.frame import Advertisement, Mark, decode
from support.cabled_fabric import CABLES, CabledFabric, cabled_fabric
from support.command import anabranch
from support.dummy_fabric import Running
from support.lldp_daemon import lldp_daemon
from support.own_datapaths import ADDRESSES, frame, with_own_datapaths
from support.waiting import wait

SWAPPED = CABLES | {"a0": "q0", "a1": "p0"}


def texts(snapshot: Snapshot) -> set[str]:
    return {one["reason"] for one in reasons(snapshot)}


def cable(snapshot: Snapshot, interface: str) -> CableState:
    (one,) = [one for one in snapshot.cables if one.interface == interface]
    return one


def alone(snapshot: Snapshot, interface: str, verdict: str) -> bool:
    """Whether a port's cable has a verdict, and no other is wrong: a busy machine may hear late on others."""
    return cable(snapshot, interface).verdict == verdict and len(texts(snapshot)) == 1


def hears(snapshot: Snapshot, interface: str, name: str) -> bool:
    """Whether a port hears one of a name."""
    return name in cable(snapshot, interface).heard


def verdicts(snapshot: Snapshot) -> dict[str, str]:
    return {cable.interface: cable.verdict for cable in snapshot.cables}


@pytest.mark.parametrize(
    ("leaves", "spines", "others"),
    [("ovs", "ovs", {}), ("ebpf", "ebpf", {}), ("ebpf", "ovs", {}), ("ebpf", "ebpf", {"leaf0": "linux"})],
)
@with_own_datapaths
def test_swapped_cables_are_named_until_they_are_as_written(
    tmp_path: Path, leaves: str, spines: str, others: dict[str, str]
) -> None:
    named = {
        "leaf0 port a0 is wired to spine1 port q0; the file says spine0 port p0",
        "leaf0 port a1 is wired to spine0 port p0; the file says spine1 port q0",
        "spine0 port p0 is wired to leaf0 port a1; the file says leaf0 port a0",
        "spine1 port q0 is wired to leaf0 port a0; the file says leaf0 port a1",
    }

    as_filed = {
        "leaf0 port a0 is wired to spine0 port p0; the file says spine1 port q0",
        "leaf0 port a1 is wired to spine1 port q0; the file says spine0 port p0",
        "spine0 port p0 is wired to leaf0 port a0; the file says leaf0 port a1",
        "spine1 port q0 is wired to leaf0 port a1; the file says leaf0 port a0",
    }

    async def run(fabric: CabledFabric) -> None:
        async with Running(fabric.file()) as running:
            # A switch that holds the plan and does not pass frames on yet keeps it from that.
            snapshot = await running.converged()
            assert set(verdicts(snapshot).values()) == {"right"}
            fabric.panel.patch(SWAPPED)
            snapshot = await running.until(lambda found: texts(found) == named)
            assert not snapshot.converged
            assert snapshot.events["miswired"] >= 4
            fabric.panel.patch(CABLES)
            await running.converged()
        # The other end of the mistake: cables as they were, and a file that has them swapped.
        async with Running(fabric.file(swapped=True)) as running:
            await running.until(lambda found: texts(found) == as_filed)

    with cabled_fabric(tmp_path, leaves, spines, **others) as fabric:
        asyncio.run(run(fabric))


@with_own_datapaths
def test_what_stands_between_two_ports_is_named(tmp_path: Path) -> None:
    async def run(fabric: CabledFabric) -> None:
        panel = fabric.panel
        async with Running(fabric.file()) as running:
            await running.converged()
            old = [data for port, data in panel.frames if port == "p0" and data[12:14] == b"\x88\xcc"]
            # A hub: what one says, both others hear.
            panel.patches |= {"a0": ("p0", "q0"), "p0": ("a0", "q0"), "q0": ("p0", "a0")}
            snapshot = await running.until(lambda found: cable(found, "a0").heard[1:] == ("spine1 port q0",))
            assert (
                "leaf0 port a0 hears spine0 port p0 and spine1 port q0: something joins" in cable(snapshot, "a0").text
            )
            panel.patch(CABLES)
            await running.converged()
            # One direction alone; then none.
            panel.patches["p0"] = ()
            snapshot = await running.until(partial(alone, interface="a0", verdict="unheard"))
            assert cable(snapshot, "p0").verdict == "right"
            assert texts(snapshot) == {cable(snapshot, "a0").text}
            assert cable(snapshot, "a0").text.startswith("leaf0 port a0 hears nothing of spine0 port p0; ")
            assert not snapshot.converged
            panel.patches["a0"] = ()
            await running.until(lambda found: cable(found, "p0").verdict == "unheard")
            # Frames of earlier say nothing, wherever they are sent on; the stranger behind them shows that they came.
            stranger = Advertisement("x", "y", 60).encode()
            for port, rightly in (("a1", ("spine1 port q0",)), ("a0", ())):
                for data in (*old, stranger):
                    panel.say(port, data)
                snapshot = await running.until(partial(hears, interface=port, name='"x" port "y"'))
                assert cable(snapshot, port).heard == (*rightly, '"x" port "y"')
            assert '"x" port "y"' in cable(snapshot, "a0").text
            assert cable(snapshot, "a1").verdict == "right"
            # With its carrier, a port forgets what it has heard.
            subprocess.run(["ip", "link", "set", "wa0", "down"], check=True)
            await running.until(lambda found: cable(found, "a0").verdict == "down")
            panel.patch(CABLES)
            subprocess.run(["ip", "link", "set", "wa0", "up"], check=True)
            await running.converged()

    with cabled_fabric(tmp_path, "ovs", "ebpf") as fabric:
        asyncio.run(run(fabric))


@pytest.mark.parametrize(("target", "others"), [("ovs", {}), ("ebpf", {"leaf0": "linux"})])
@with_own_datapaths
def test_a_link_that_loses_frames_and_carries_nothing_else_is_named(
    tmp_path: Path, target: str, others: dict[str, str]
) -> None:
    async def run(fabric: CabledFabric) -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            # Not in turn: a controller that sends twice in a short time would not lose every other frame then.
            draws = random.Random(5)
            fabric.panel.losing["a0"] = (draws.random() < 0.5 for _ in count())
            snapshot = await running.until(partial(alone, interface="p0", verdict="losing"))
            (reason,) = texts(snapshot)
            assert re.fullmatch(
                r"about [4-7]0 % of our frames from leaf0 port a0 do not arrive at spine0 port p0", reason
            )
            assert cable(snapshot, "a0").verdict == "right"
            assert not snapshot.converged
            assert snapshot.events["losing"]

    with cabled_fabric(tmp_path, target, target, **others) as fabric:
        asyncio.run(run(fabric))


@with_own_datapaths
def test_hostile_frames_are_escaped_or_nothing(tmp_path: Path) -> None:
    async def run(fabric: CabledFabric) -> None:
        panel = fabric.panel
        async with Running(fabric.file()) as running:
            await running.converged()
            (own, *_) = [data for port, data in panel.frames if port == "q0" and data[12:14] == b"\x88\xcc"]
            panel.patches |= {"a0": (), "p0": ()}
            await running.until(lambda found: cable(found, "a0").verdict == "unheard")
            mark = decode(own).mark
            assert mark is not None
            # Cut within the three TLVs that must be there, or within ours, whose end is two bytes before the frame's.
            for cut in (*range(14, 32), *range(len(own) - 40, len(own) - 2)):
                panel.say("a0", own[:cut])
            panel.say("a0", own[:14] + b"\xff\xff" + own[16:])
            # Another port of this run, whose tag nobody can make.
            forged = Advertisement("spine0", "p0", 60, "spine0", Mark(mark.owner, mark.run, 0, 1, bytes(16)))
            panel.say("a0", forged.encode())
            snapshot = await running.until(lambda found: cable(found, "a0").verdict == "miswired")
            assert '"spine0" port "p0" of another controller (owner 3)' in cable(snapshot, "a0").text
            name = "\x1b[2J\n" + "A" * 400
            panel.say("a0", Advertisement("c" * 300, "p\r\n", 60, name).encode())

            def named(found: Snapshot) -> bool:
                # Not at once: a stranger's name is not taken as often as it sends one.
                panel.say("a0", Advertisement("c" * 300, "p\r\n", 60, name).encode())
                return "AAAA" in cable(found, "a0").text

            snapshot = await running.until(named)
            text = cable(snapshot, "a0").text
            assert text.isprintable()
            assert "\\x1b[2J\\nAAA" in text
            assert "A" * 100 not in text
            # One that goes takes its name along.
            panel.say("a0", Advertisement("x", "y", 0).encode())
            await running.until(lambda found: cable(found, "a0").verdict == "unheard")
            # A port that hears its neighbour is right, whoever else speaks there: many a switch runs a daemon itself.
            panel.patch(CABLES)
            snapshot = await running.converged()
            panel.say("a0", Advertisement("x", "y", 60).encode())
            snapshot = await running.until(lambda found: len(cable(found, "a0").heard) == 2)
            assert cable(snapshot, "a0").verdict == "right"

    with cabled_fabric(tmp_path, "ebpf", "ovs") as fabric:
        asyncio.run(run(fabric))


@with_own_datapaths
def test_a_daemon_of_others_hears_and_is_heard(tmp_path: Path) -> None:
    async def run(fabric: CabledFabric) -> None:
        fabric.panel.patches |= {"a0": (), "p0": (), "p1": (), "b0": ()}
        # One beside a bridge, one beside a datapath in the kernel.
        with lldp_daemon(tmp_path, ["wa0", "wp1"], "tor7") as daemon:
            async with Running(fabric.file()) as running:
                snapshot = await running.until(
                    lambda found: all("tor7" in cable(found, port).text for port in ("a0", "p1"))
                )
                said = '"tor7" port "{}", which this file does not have; the file says'
                assert f"leaf0 port a0 is wired to {said.format('wa0')} spine0 port p0" in texts(snapshot)
                assert f"spine0 port p1 is wired to {said.format('wp1')} leaf1 port b0" in texts(snapshot)
                heard = await asyncio.to_thread(daemon.neighbours, 2)
        assert heard == {"wa0": ("leaf0", "leaf0", "a0"), "wp1": ("spine0", "spine0", "p1")}

    with cabled_fabric(tmp_path, "ovs", "ebpf") as fabric:
        asyncio.run(run(fabric))


@pytest.mark.parametrize("target", ["ovs", "ebpf"])
@with_own_datapaths
def test_hosts_get_no_frame_and_what_they_send_goes_nowhere(tmp_path: Path, target: str) -> None:
    async def run(fabric: CabledFabric) -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            if target == "ovs":
                # A rule of others for all packets, before theirs and ours: others' frames are flooded by it.
                for switch in ("leaf0", "spine0"):
                    fabric.open_vswitch.ofctl("add-flow", switch, "priority=50000,actions=ALL")
            stranger = Advertisement("x", "y", 60).encode()

            def is_heard(found: Snapshot) -> bool:
                deaf = [port for port in ("a0", "p0") if len(cable(found, port).heard) < 2]
                # A busy switch may drop a frame that it should pass on.
                for port in deaf:
                    fabric.panel.say(port, stranger)
                return not deaf

            await running.until(is_heard)
            # What is no LLDP is flooded; then all that was to come before it has come.
            other = ADDRESSES + b"\x88\xb5" + bytes(50)
            fabric.panel.say("a0", other)
            if target == "ovs":
                wait(lambda: ("ah", other) in fabric.panel.frames, lambda: "nothing is flooded")
            at_host = [data for port, data in fabric.panel.frames if port in ("ah", "bh")]
            assert not [data for data in at_host if data[12:14] == b"\x88\xcc"]
            assert stranger not in [data for _, data in fabric.panel.frames]
            assert (await running.converged()).converged

    with cabled_fabric(tmp_path, target, target) as fabric:
        asyncio.run(run(fabric))


@pytest.mark.parametrize(("leaves", "spines"), [("ovs", "ebpf"), ("ebpf", "ovs")])
@with_own_datapaths
def test_weights_follow_cables_as_they_are(tmp_path: Path, leaves: str, spines: str) -> None:
    """With a spine cut off from `leaf1`, all of `leaf0` must go by the other, wherever its cable is."""
    sent = [frame(port, "10.1.1.1") for port in range(4000, 4040)]

    def sees_all(fabric: CabledFabric, port: str) -> None:
        """Waits until all frames of host0 come out of a port; sends again, as caches may be older than rules."""
        fabric.panel.frames.clear()

        def all_seen() -> bool:
            seen = {data for out, data in list(fabric.panel.frames) if out == port}
            missing = [one for one in sent if one not in seen]
            for one in missing:
                fabric.panel.say("ah", one)
            return not missing

        wait(all_seen, lambda: f"nothing at {port}")

    async def run(fabric: CabledFabric) -> None:
        fabric.panel.patch(SWAPPED)
        subprocess.run(["ip", "link", "set", "wp1", "down"], check=True)
        async with Running(fabric.file()) as running:
            await running.until(lambda found: len(texts(found)) == 4 and not found.unplanned and is_steady(found))
            # By the port that the file calls the living spine's, which leads to the other: to nobody.
            await asyncio.to_thread(sees_all, fabric, "a1")
            assert not [data for port, data in fabric.panel.frames if port == "bh" and data in sent]
        async with Running(fabric.file(), as_wired=True) as running:
            snapshot = await running.until(
                lambda found: (
                    found.events["rewired"] > 0
                    and not found.unplanned
                    and is_steady(found)
                    # Each port has been heard: until then it says so in a text of its own.
                    and len(texts(found)) == 4
                )
            )
            await asyncio.to_thread(sees_all, fabric, "bh")
            await asyncio.to_thread(sees_all, fabric, "bh")
            assert not [data for port, data in fabric.panel.frames if port == "a1" and data in sent]
            assert not snapshot.converged
            # As written again: nothing is left of the other wiring.
            fabric.panel.patch(CABLES)
            subprocess.run(["ip", "link", "set", "wp1", "up"], check=True)
            await running.converged()
            await asyncio.to_thread(sees_all, fabric, "bh")

    with cabled_fabric(tmp_path, leaves, spines) as fabric:
        asyncio.run(run(fabric))


@with_own_datapaths
def test_slices_follow_cables_as_they_are(tmp_path: Path) -> None:
    """Wino's label 1 is the path by `spine0`, label 2 the one by `spine1`, wherever their cables are."""
    sent = {label: frame(4000 + label, "10.1.1.1", dscp=label) for label in (1, 2)}

    def leaves_by(fabric: CabledFabric, ports: dict[int, str]) -> None:
        """Waits until each label goes by its port to the host; sends again, as caches may be older than rules."""
        fabric.panel.frames.clear()

        def all_seen() -> bool:
            here = list(fabric.panel.frames)
            missing = [data for label, data in sent.items() if not {(ports[label], data), ("bh", data)} <= set(here)]
            for data in missing:
                fabric.panel.say("ah", data)
            return not missing

        wait(all_seen, lambda: f"labels do not go by {ports}")

    async def run(fabric: CabledFabric) -> None:
        fabric.panel.patch(SWAPPED)
        async with Running(fabric.file(weights="wino")) as running:
            await running.until(lambda found: len(texts(found)) == 4 and is_steady(found))
            await asyncio.to_thread(leaves_by, fabric, {1: "a0", 2: "a1"})
        async with Running(fabric.file(weights="wino"), as_wired=True) as running:
            await running.until(lambda found: found.events["rewired"] > 0 and is_steady(found))
            await asyncio.to_thread(leaves_by, fabric, {1: "a1", 2: "a0"})
            fabric.panel.patch(CABLES)
            await running.converged()
            await asyncio.to_thread(leaves_by, fabric, {1: "a0", 2: "a1"})

    with cabled_fabric(tmp_path, "ovs", "ovs") as fabric:
        asyncio.run(run(fabric))


def is_steady(snapshot: Snapshot) -> bool:
    return snapshot.plans > 0 and all(one.connected and not one.differences for one in snapshot.switches)


@with_own_datapaths
def test_once_ends_with_what_it_knows_and_a_dry_run_knows_nothing(tmp_path: Path) -> None:
    with cabled_fabric(tmp_path, "ebpf", "ovs") as fabric:
        file = tmp_path / "fabric.toml"
        file.write_text(fabric.text())
        dry = anabranch("control", str(file), "--dry-run", "--timeout", "60")
        assert dry.returncode == 0, dry.stderr
        assert "wiring: not known: --dry-run sends no frames" in dry.stdout
        once = anabranch("control", str(file), "--once", "--timeout", "60")
        assert (once.returncode, "wiring" in once.stdout) == (0, False), once.stdout
        fabric.panel.patch(SWAPPED)
        once = anabranch("control", str(file), "--once", "--timeout", "60")
        assert once.returncode == 1
        assert "wiring: leaf0 port a0 is wired to spine1 port q0; the file says spine0 port p0" in once.stdout
        both = anabranch("control", str(file), "--as-wired", "--dry-run")
        assert (both.returncode, "leave out --dry-run" in both.stderr) == (2, True)
        off = tmp_path / "off.toml"
        off.write_text(fabric.text("[wiring]\nuse = false"))
        refused = anabranch("control", str(off), "--as-wired", "--once")
        assert (refused.returncode, "wiring.use: false" in refused.stderr) == (2, True)
