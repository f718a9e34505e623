"""The controller of a lab of datapaths in the kernel killed among changes: what the kernel holds afterwards."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf.switching import kernel_switches
from support.controller_process import ControllerProcess
from support.lab_fixture import kernel_lab_of, reaches
from support.waiting import DEADLINE_S, wait

FABRIC = 'kind = "leaf-spine"\nleaves = 2\nspines = 3\nhosts_per_leaf = 1\nlink = { rate = "100 Mbps" }'
ROUNDS, QUIET_S = 5, 0.2


def links(lab: Lab) -> dict[tuple[str, str], tuple[bool, int]] | None:
    """State and rate by ends, as the controller says; None while it does not, or is not at its plan."""
    connection = http.client.HTTPConnection(lab.record.http, timeout=DEADLINE_S)
    try:
        connection.request("GET", "/status.json")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    except OSError:
        return None
    finally:
        connection.close()
    if not found["converged"]:
        return None
    return {(link["a"], link["b"]): (link["up"], link["rate_bps"]) for link in found["links"]}


def held(lab: Lab) -> dict[str, dict[str, _core.KernelGroup]]:
    found = {switch: kernel_switches(lab).datapath(switch) for switch in lab.switches}
    return {name: {group.name: group for group in one.observed()} for name, one in found.items() if one is not None}


def kill(lab: Lab) -> None:
    for pid in controller.running(lab):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: not controller.running(lab), lambda: "it does not end")


def test_it_may_be_killed_among_changes(tmp_path: Path) -> None:
    chance = random.Random(11)
    wanted = {(f"leaf{leaf}", f"spine{spine}"): (True, 10**8) for leaf in range(2) for spine in range(3)}
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        lab.fabric_file.write_text(lab.fabric_file.read_text() + "\n[damping]\nuse = false\n")

        def change() -> None:
            link = f"leaf{chance.randrange(2)}", f"spine{chance.randrange(1, 3)}"
            up, rate_bps = chance.random() < 0.5, chance.choice((10, 50, 100)) * 10**6
            wanted[link] = up, rate_bps
            lab.set_link(*link, up=up, rate_bps=rate_bps)

        def rests() -> bool:
            for _ in range(2):
                found = links(lab)
                if found is None or any(found[link] != state for link, state in wanted.items()):
                    return False
                time.sleep(QUIET_S)
            return True

        controller.start(lab)
        for _ in range(ROUNDS):
            change()
            time.sleep(chance.random() * 0.03)
            kill(lab)
            change()
            controller.start(lab)
            change()
        wait(rests, lambda: (lab.folder / controller.LOG).read_text()[-3000:])
        assert reaches(lab, "host0", "host1")
        found = held(lab)
        kill(lab)
        kernel_switches(lab).clear()
        # The kernel takes programs whose pins are gone off devices when it has time to.
        wait(lambda: not reaches(lab, "host0", "host1", timeout_s=0.1), lambda: "it still forwards")
        controller.start(lab)
        wait(rests, lambda: (lab.folder / controller.LOG).read_text()[-3000:])
        assert held(lab) == found
        assert reaches(lab, "host0", "host1")


def test_what_is_no_datapath_holds_up_its_switch_alone(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        kernel_switches(lab).folder("spine2").mkdir()
        process = ControllerProcess(lab.fabric_file, int(lab.record.http.rpartition(":")[2]))
        process.start()
        try:
            # All others are served, and this one as soon as it can be.
            wait(lambda: '"unreachable", "switch": "spine2"' in process.log.read_text(), process.log.read_text)
            assert reaches(lab, "host0", "host1")
            assert links(lab) is None
            kernel_switches(lab).folder("spine2").rmdir()
            wait(lambda: links(lab) is not None, process.log.read_text)
        finally:
            process.kill()
