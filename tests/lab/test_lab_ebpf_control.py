"""A lab of datapaths in the kernel with its controller: failures, crashes, and what is others' on the same devices."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import outage
from anabranch import _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf.switching import kernel_switches
from support.lab_fixture import failure, kernel_lab_of, reaches, status
from support.waiting import wait

FABRIC = 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nlink = { rate = "1 Gbps" }'
QUICK = '\n[measure]\ninterval = "100 ms"\naudit = "200 ms"\n'


def held(lab: Lab, switch: str, group: str) -> _core.KernelGroup:
    found = kernel_switches(lab).datapath(switch)
    assert found is not None
    return next(one for one in found.observed() if one.name == group)


def kill(lab: Lab) -> None:
    for pid in controller.running(lab):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: not controller.running(lab), lambda: "it does not end")


def test_flows_survive_failures_and_a_crash_of_the_controller_is_not_felt(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        controller.start(lab)
        source, target = lab.hosts["host0"], lab.hosts["host1"]
        for a, b in (("leaf0", "spine0"), ("spine1", "leaf1")):
            found = outage.measure(source, target, failure(lab, a, b), packets_per_s=4000, duration_s=1)
            # On a machine that nobody else keeps busy not a packet is lost.
            assert found.recovered
            lab.set_link(a, b, up=True)
            wait(lambda: controller.converged(lab) and all(link["up"] for link in status(lab)["links"]), str)

        def crash() -> None:
            kill(lab)
            controller.start(lab)

        found = outage.measure(source, target, crash, packets_per_s=4000, duration_s=3)
        assert not found.lost
        # The next one found what it wanted, and changed nothing.
        assert [(one["connected"], one["commits"]) for one in status(lab)["switches"]] == [(True, 0)] * 4


def test_what_died_while_nobody_looked_is_masked_by_the_next_controller(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        controller.start(lab)
        kill(lab)
        lab.set_link("leaf0", "spine1", up=False)
        controller.start(lab)
        group = held(lab, "leaf0", "leaf1")
        assert [up and weight > 0 for up, weight in zip(group.up, group.weights, strict=True)] == [True, False]
        assert reaches(lab, "host0", "host1")
        assert reaches(lab, "host1", "host0")
        lab.set_link("leaf0", "spine0", up=False)
        # A leaf that nothing leads to has a group that drops; when a way is back, it is used.
        wait(lambda: not any(held(lab, "leaf0", "leaf1").up), lambda: str(held(lab, "leaf0", "leaf1")))
        lab.set_link("leaf0", "spine1", up=True)
        assert reaches(lab, "host0", "host1")


def test_rates_and_counters_are_followed(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        lab.fabric_file.write_text(lab.fabric_file.read_text() + QUICK)
        controller.start(lab)
        lab.set_link("leaf0", "spine0", rate_bps=250_000_000)
        wait(lambda: held(lab, "leaf0", "leaf1").weights == [1, 4], lambda: str(held(lab, "leaf0", "leaf1").weights))
        seen: list[tuple[float, float]] = []

        def followed() -> bool:
            found = status(lab)
            (group,) = (one for one in found["groups"] if (one["switch"], one["leaf"]) == ("leaf0", "leaf1"))
            shares = [member["measured_share"] for member in group["members"]]
            loads = [max(load or 0.0 for load in link["load_bps"]) for link in found["links"]]
            if None in shares:
                return False
            seen.append((shares[0], max(loads)))
            # An interval in which much was sent: a few packets say nothing of shares.
            return bool(seen[-1][0] == pytest.approx(0.2, abs=0.12) and seen[-1][1] > 1e6)

        outage.measure(
            lab.hosts["host0"],
            lab.hosts["host1"],
            lambda: wait(followed, lambda: str(seen)),
            packets_per_s=8000,
            flows=256,
            duration_s=1,
        )


def test_what_is_others_stays_and_what_is_taken_away_comes_back(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        lab.fabric_file.write_text(lab.fabric_file.read_text() + QUICK)
        theirs = _core.KernelDatapath.create(
            str(kernel_switches(lab).folder("leaf0").with_name("theirs")), "slots", 1, 2
        )
        with inside(lab.blueprint.switch_namespace):
            device = socket.if_nametoindex(lab.interface("leaf0", "host0"))
            theirs.attach(device, "ingress")
        controller.start(lab)
        assert reaches(lab, "host0", "host1")
        ours = kernel_switches(lab).datapath("leaf0")
        assert ours is not None

        def is_taken_away() -> bool:
            try:
                ours.detach(device, "ingress")
            except AnabranchError:
                return False
            return True

        # Hosts may reach each other before the last port has its program, and that is seen before it can be taken away.
        wait(is_taken_away, lambda: "leaf0 is not attached")
        kernel_switches(lab).datapath("spine1").remove()  # type: ignore[union-attr]
        wait(lambda: kernel_switches(lab).datapath("spine1") is not None, lambda: "spine1 does not come back")
        wait(lambda: (device, "ingress", True) in ours.attachments(), lambda: "leaf0 is not attached again")
        assert reaches(lab, "host0", "host1")
        assert status(lab)["events"]["drifted"] >= 2
        kill(lab)
        assert theirs.attachments() == [(device, "ingress", True)]


def control(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anabranch", "control", str(lab.fabric_file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_once_changes_the_kernel_and_a_dry_run_does_not(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, FABRIC) as lab:
        looked = control(lab, "--dry-run")
        assert looked.returncode == 0
        assert "+ group leaf1 10.1.1.0/24: leaf0-spine0:1, leaf0-spine1:1" in looked.stdout
        assert kernel_switches(lab).datapath("leaf0") is None
        made = control(lab, "--once")
        assert made.returncode == 0, made.stderr
        assert reaches(lab, "host0", "host1")
        assert "+" not in control(lab, "--dry-run").stdout
        # Another scheme takes the place of the first.
        text = lab.fabric_file.read_text().replace('datapath = "ebpf"', 'datapath = "ebpf"\nscheme = "score"')
        lab.fabric_file.write_text(text)
        found = outage.measure(
            lab.hosts["host0"],
            lab.hosts["host1"],
            lambda: control(lab, "--once").check_returncode(),
            packets_per_s=2000,
            duration_s=4,
        )
        assert not found.lost
        ours = kernel_switches(lab).datapath("leaf0")
        assert ours is not None
        assert ours.scheme == "score"
        assert [path.name for path in kernel_switches(lab).folder("leaf0").parent.iterdir() if "+" in path.name] == []
