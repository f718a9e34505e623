"""Wino as a whole: a controller, hosts that mark, and TCP between them, while links degrade and die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.marking import nftables as marking
from anabranch.lab.calibration.goodput import goodput_bps
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from support.lab_fixture import lab_of
from support.waiting import DEADLINE_S, wait

FABRIC = """
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
link = { rate = "100 Mbps", buffer = "200 packets", ecn = "off" }
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    if shutil.which("nft") is None:
        pytest.skip("nft is missing: apt install nftables")
    with lab_of(tmp_path, FABRIC) as made:
        text = made.fabric_file.read_text().replace('weights = "capacity"', 'weights = "wino"')
        made.fabric_file.write_text(text + '\n[policy.wino]\nslice_max = "10 Mbps"\nretire = "1 s"\nmeters = false\n')
        controller.start(made)
        yield made


@contextmanager
def marking_hosts(lab: Lab) -> Iterator[None]:
    """`anabranch mark` for every host."""
    with ExitStack() as stack:
        for host in lab.hosts.values():
            command = [sys.executable, "-m", "anabranch", "mark", f"http://{lab.record.http}/slices.json"]
            command += ["--netns", host.namespace, "--device", host.interface, "--poll", "0.05"]
            agent = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            stack.callback(agent.terminate)
        yield


def labels(lab: Lab, host: str) -> int:
    """How many labels a host uses."""
    command = [*lab.hosts[host].enter, "nft", "--json", "list", "ruleset"]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return sum(1 for entry in shown["nftables"] if entry.get("chain", {}).get("name", "").startswith("label"))


def status(lab: Lab) -> Any:
    with urllib.request.urlopen(f"http://{lab.record.http}/status.json", timeout=DEADLINE_S) as answer:
        return json.load(answer)


def degrade(lab: Lab, rate_bps: int) -> None:
    """Makes the link from leaf 0 to spine 1 slower and, as a switch would, says so."""
    lab.set_link("leaf0", "spine1", rate_bps=rate_bps)
    for a, b in (("leaf0", "spine1"), ("spine1", "leaf0")):
        setting = f"external_ids:anabranch-rate-bps={rate_bps}"
        open_vswitch(lab).vsctl("set", "interface", lab.interface(a, b), setting)


def test_hosts_follow_the_links_and_tcp_goes_on(lab: Lab) -> None:
    def both(count: int) -> None:
        wait(
            lambda: labels(lab, "host0") == labels(lab, "host1") == count,
            lambda: str((count, labels(lab, "host0"), labels(lab, "host1"))),
        )

    with marking_hosts(lab), ThreadPoolExecutor(1) as pool:
        both(2)
        carried = pool.submit(goodput_bps, lab.hosts["host0"], lab.hosts["host1"], 6.0)
        degrade(lab, 50_000_000)
        both(15)
        # A controller that dies takes nothing along, and its successor finds all as it should be.
        for pid in controller.running(lab):
            os.kill(pid, signal.SIGKILL)
        wait(lambda: not controller.running(lab), lambda: str(controller.running(lab)))
        assert labels(lab, "host0") == 15
        controller.start(lab)
        commits = sum(switch["commits"] for switch in status(lab)["switches"])
        assert commits == 0
        # A dead link: one path, and labels that end without a packet that goes nowhere.
        lab.set_link("leaf0", "spine1", up=False)
        both(1)
        lab.set_link("leaf0", "spine1", up=True)
        both(15)
        # A connection that lived through all of it.
        assert carried.result(DEADLINE_S) > 1e6
    for host in lab.hosts.values():
        assert labels(lab, host.name) == 0
        shown = subprocess.run([*host.enter, "ip", "-json", "-d", "link", "show"], capture_output=True, text=True)
        assert {link.get("gso_max_segs") for link in json.loads(shown.stdout)} == {marking.SEGMENTS_DEFAULT}
