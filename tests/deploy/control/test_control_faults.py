"""The controller, ovs-vswitchd and ovsdb-server killed at random instants among changes: what the bridges hold then."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.deploy.targets.ovs.daemons import DATABASE, SWITCH
from support.controller_process import ControllerProcess, controller
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.held_tables import answer, assert_same, empty, held, operate
from support.reserved_port import reserved_port
from support.waiting import wait

KILLS = 3
QUIET_S = 1.0


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyBridges]:
    with dummy_bridges(tmp_path, leaves=3, spines=3) as made:
        operate(made.open_vswitch, made.bridges)
        yield made


@pytest.fixture
def process(fabric: DummyBridges, tmp_path: Path) -> Iterator[ControllerProcess]:
    file, undamped = tmp_path / "fabric.toml", "[damping]\nuse = false"
    databases = dict.fromkeys(fabric.bridges, fabric.open_vswitch.database)
    with reserved_port() as port:
        file.write_text(fabric.fabric_toml(http=f"127.0.0.1:{port}", databases=databases, more=undamped))
        with controller(file, port) as started:
            started.wait_healthy()
            yield started


def from_nothing(fabric: DummyBridges, process: ControllerProcess) -> dict[str, list[str]]:
    """Content of the bridges when a controller finds them without rules of ours."""
    process.kill()
    empty(fabric.open_vswitch, fabric.bridges)
    process.start()
    settle(fabric, process)
    return held(fabric.open_vswitch, fabric.bridges)


def settle(fabric: DummyBridges, process: ControllerProcess) -> None:
    """Waits until the controller has seen all changes, and the switches hold what follows from them."""

    def twice() -> bool:
        if settled(fabric, process):
            # A port that went and came again looks as before: the news of both may be under way.
            time.sleep(QUIET_S)
            return settled(fabric, process)
        return False

    wait(twice, lambda: process.log.read_text()[-5000:])


def settled(fabric: DummyBridges, process: ControllerProcess) -> bool:
    status = process.status()
    return bool(status["converged"]) and fabric.is_as_in(status)


def check(fabric: DummyBridges, process: ControllerProcess) -> None:
    settle(fabric, process)
    assert_same(held(fabric.open_vswitch, fabric.bridges), from_nothing(fabric, process))
    assert_packets_leave_by_live_links(fabric)


def assert_packets_leave_by_live_links(fabric: DummyBridges) -> None:
    for source in range(fabric.leaves):
        leaf, target = f"leaf{source}", (source + 1) % fabric.leaves
        spines = [f"spine{number}" for number in range(fabric.spines)]
        live = {
            f"{leaf}-{spine}"
            for spine in spines
            if fabric.link_up(leaf, spine) and fabric.link_up(f"leaf{target}", spine)
        }
        for port in range(40):
            addresses = f"nw_src=10.1.{source}.1,nw_dst=10.1.{target}.1"
            packet = f"tcp,in_port={leaf}-host{source},{addresses},tcp_src={port},tcp_dst=80"
            trace = fabric.open_vswitch.appctl("ofproto/trace", leaf, packet)
            left = re.findall(r"output:(\d+)", trace.partition("Final flow")[0])
            assert [name_of(fabric, leaf, int(number)) in live for number in left] == [True], trace


def name_of(fabric: DummyBridges, bridge: str, number: int) -> str:
    found = fabric.open_vswitch.vsctl("--bare", "--columns=name", "find", "interface", f"ofport={number}").split()
    (name,) = (one for one in found if one.startswith(f"{bridge}-"))
    return name


def test_the_controller_killed_among_changes(fabric: DummyBridges, process: ControllerProcess) -> None:
    source = random.Random(1)
    for _ in range(KILLS):
        for _ in range(3):
            fabric.change(source)
        time.sleep(source.random() * 0.03)
        process.kill()
        fabric.change(source)
        process.start()
        process.wait_healthy()
    check(fabric, process)


def test_the_switches_killed_among_changes(fabric: DummyBridges, process: ControllerProcess) -> None:
    source = random.Random(2)
    for _ in range(KILLS):
        for _ in range(3):
            fabric.change(source)
        time.sleep(source.random() * 0.03)
        fabric.open_vswitch.kill(SWITCH)
        fabric.restart_switch()
        # A bridge forgets what the operator had as well, who adds it again while the controller is at work.
        operate_again(fabric)
    check(fabric, process)


def operate_again(fabric: DummyBridges) -> None:
    wait(lambda: answer(fabric.open_vswitch, fabric.bridges), lambda: "no bridge answers")
    operate(fabric.open_vswitch, fabric.bridges)


def test_the_database_killed_among_changes(fabric: DummyBridges, process: ControllerProcess) -> None:
    source = random.Random(3)
    for _ in range(2):
        for _ in range(2):
            fabric.change(source)
        time.sleep(source.random() * 0.03)
        fabric.open_vswitch.kill(DATABASE)
        fabric.change(source, rates=False)
        time.sleep(source.random() * 0.03)
        fabric.open_vswitch.start_database()
        fabric.change(source)
    wait(lambda: any(event["event"] == "database-lost" for event in process.events()), process.log.read_text)
    check(fabric, process)


def test_all_three_killed_at_once(fabric: DummyBridges, process: ControllerProcess) -> None:
    source = random.Random(4)
    for _ in range(3):
        fabric.change(source)
        time.sleep(source.random() * 0.03)
        process.kill()
        fabric.open_vswitch.kill(SWITCH)
        fabric.open_vswitch.kill(DATABASE)
        process.start()
        fabric.open_vswitch.start_database()
        fabric.restart_switch()
        operate_again(fabric)
    check(fabric, process)
