"""A lab with its controller: a link fails, and flows go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import outage
from anabranch import AnabranchError
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.processes import marked
from anabranch.lab.fabric.topology import Lab
from support.lab_fixture import carried, failure, lab_of, reaches, status
from support.waiting import wait

FABRIC = 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nlink = { rate = "1 Gbps" }'


def turn(lab: Lab, a: str, b: str, up: bool) -> Callable[[], None]:
    return lambda: lab.set_link(a, b, up=up)


def test_flows_survive_a_failure_that_their_leaf_cannot_see(tmp_path: Path) -> None:
    with lab_of(tmp_path, FABRIC) as lab:
        controller.start(lab)
        (first,) = controller.running(lab)
        controller.start(lab)
        assert controller.running(lab) == [first]
        source, target = lab.hosts["host0"], lab.hosts["host1"]
        before = carried(lab, "spine0", "leaf1")
        found = outage.measure(source, target, failure(lab, "spine0", "leaf1"), packets_per_s=4000)
        # The link that fails carried flows.
        assert carried(lab, "spine0", "leaf1") > before
        assert found.recovered
        # The second failure is mended by a controller that has been started since.
        os.kill(first, signal.SIGKILL)
        lab.set_link("spine0", "leaf1", up=True)
        controller.start(lab)
        assert first not in controller.running(lab)
        wait(lambda: all(link["up"] for link in status(lab)["links"]), lambda: str(status(lab)["links"]))
        before = carried(lab, "spine1", "leaf1")
        found = outage.measure(source, target, failure(lab, "spine1", "leaf1"), packets_per_s=4000)
        assert carried(lab, "spine1", "leaf1") > before
        assert found.recovered
    assert not marked(lab.record.mark)


def test_bfd_finds_what_fails_silently(tmp_path: Path) -> None:
    # Shorter intervals make false alarms where other tests use the processor.
    with lab_of(tmp_path, FABRIC, bfd_ms=500) as lab:
        controller.start(lab)
        wait(lambda: all(link["up"] for link in status(lab)["links"]), lambda: str(status(lab)["links"]))
        source, target = lab.hosts["host0"], lab.hosts["host1"]
        found = outage.measure(source, target, failure(lab, "spine0", "leaf1", silent=True), packets_per_s=4000)
        assert found.flows_hit
        assert found.recovered


def test_without_a_controller_a_failure_is_felt(tmp_path: Path) -> None:
    with lab_of(tmp_path, FABRIC) as lab:
        source, target = lab.hosts["host0"], lab.hosts["host1"]
        with pytest.raises(AnabranchError, match="nothing arrives before the failure"):
            outage.measure(source, target, lambda: None, packets_per_s=4000, duration_s=1)
        controller.start(lab)
        (pid,) = controller.running(lab)
        os.kill(pid, signal.SIGSTOP)
        found = outage.measure(source, target, turn(lab, "spine0", "leaf1", False), packets_per_s=4000, duration_s=1)
        assert found.flows_hit
        assert not found.recovered
        # Half a second or more follows it.
        assert found.longest_ms > 400
        os.kill(pid, signal.SIGCONT)
        assert reaches(lab, "host0", "host1")


def test_a_controller_that_cannot_start_says_why(tmp_path: Path) -> None:
    with lab_of(tmp_path, FABRIC) as lab:
        good = lab.fabric_file.read_text()
        lab.fabric_file.write_text(good.replace("hash-gravity", "hash-gravitation"))
        with pytest.raises(AnabranchError, match=r"controller does not reach its plan.*hash-gravity"):
            controller.start(lab)
