"""A large fabric of real bridges under one controller: all get to the plan; a flapping port keeps nobody waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.controller_process import ControllerProcess, controller
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.reserved_port import reserved_port
from support.waiting import DEADLINE_S, wait

LEAVES, SPINES = 65, 4
FLAPS_BEFORE, FLAP_S = 5, 0.2
OTHERS = ("leaf7", "leaf30", "leaf64")


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyBridges]:
    with dummy_bridges(tmp_path, LEAVES, SPINES) as made:
        yield made


@pytest.fixture
def process(fabric: DummyBridges, tmp_path: Path) -> Iterator[ControllerProcess]:
    file = tmp_path / "fabric.toml"
    with reserved_port() as port:
        file.write_text(fabric.fabric_toml(http=f"127.0.0.1:{port}", more="[damping]\nuse = false"))
        with controller(file, port) as started:
            started.wait_healthy()
            yield started


def test_every_switch_has_its_groups_and_a_flapping_port_keeps_nobody_waiting(
    fabric: DummyBridges, process: ControllerProcess
) -> None:
    for switch in process.status()["switches"]:
        leaf = switch["name"].startswith("leaf")
        assert switch["groups"] == (LEAVES - 1 if leaf else LEAVES), switch
    flaps, begun, deadline = 0, 0, time.monotonic() + DEADLINE_S
    while not (flaps > FLAPS_BEFORE and all(answered(process, name, begun) for name in OTHERS)):
        # The flapping ends only when the others have been served among it.
        fabric.set_port("leaf0-spine0", up=bool(flaps % 2))
        flaps += 1
        if flaps == FLAPS_BEFORE:
            begun = len(process.events())
            for name in OTHERS:
                fabric.set_port(f"{name}-spine1", up=False)
        # As fast as that the log, of which a second has so many lines of one sort, has them all.
        time.sleep(FLAP_S)
        assert time.monotonic() < deadline
    fabric.set_port("leaf0-spine0", up=True)
    wait(lambda: followed(process), lambda: process.log.read_text()[-3000:])


def answered(process: ControllerProcess, name: str, begun: int) -> bool:
    """Whether the loss of a leaf's own link was followed by a commit to that leaf."""
    events = process.events()[begun:]
    lost = [number for number, event in enumerate(events) if event.get("link") == f"{name}-spine1"]
    commits = [event for event in events[lost[0] :] if event["event"] == "committed"] if lost else []
    return any(event["switch"] == name for event in commits)


def followed(process: ControllerProcess) -> bool:
    """Whether all changes have been seen, and every switch holds what follows."""
    code, status = process.get("/status.json")
    down = {f"{link['a']}-{link['b']}" for link in status["links"] if not link["up"]} if code else set()
    return bool(status and status["converged"] and down == {f"{name}-spine1" for name in OTHERS})
