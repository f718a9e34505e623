"""Labs on this machine: what they carry, how fast, and that nothing of them stays."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.calibration.goodput import goodput_bps
from anabranch.lab.fabric import record, single_path
from anabranch.lab.fabric.iproute import present
from anabranch.lab.fabric.topology import Lab, remove
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.lab.traffic.queue_counters import QueueReader
from support.lab_fixture import assert_goodput, lab_of, need_ovs_lab, new_name, reaches
from support.waiting import DEADLINE_S

SMALL = 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nlink = { rate = "50 Mbps" }'


def devices() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def processes_of(name: str) -> list[str]:
    """Processes whose environment or command line names the lab: number, state and command."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                command = (folder / "cmdline").read_bytes()
                marked = name.encode() in (folder / "environ").read_bytes()
                if marked or name.encode() in command:
                    found.append(f"{(folder / 'stat').read_text()}{marked=} {command.decode(errors='replace')}")
            except OSError:
                continue
    return found


def assert_nothing_left(name: str) -> None:
    assert not [namespace for namespace in present() if name in namespace]
    assert not (record.LABS / name).exists()
    assert not processes_of(name)


def test_hosts_reach_each_other_and_links_have_their_rate(tmp_path: Path) -> None:
    before = devices()
    with lab_of(tmp_path, SMALL) as lab:
        # Others may have come and gone meanwhile, but none of a lab.
        assert not (devices() - before) & {end.device for cable in lab.blueprint.cables for end in (cable.a, cable.b)}
        assert not reaches(lab, "host0", "host1", 0.2)
        single_path.install(lab, "spine0")
        assert reaches(lab, "host0", "host1")
        assert_goodput(lab, "host0", "host1", 50e6)
        lab.set_link("spine0", "leaf0", rate_bps=20_000_000)
        assert_goodput(lab, "host0", "host1", 20e6)
    assert_nothing_left(lab.name)


def test_a_link_goes_down_and_comes_back(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        single_path.install(lab, "spine1")
        assert reaches(lab, "host0", "host1")
        for a, b in (("leaf0", "spine1"), ("host1", "leaf1")):
            lab.set_link(a, b, up=False)
            assert not reaches(lab, "host0", "host1", 0.2)
            lab.set_link(a, b, up=True)
            assert reaches(lab, "host0", "host1")
        lab.set_link("leaf0", "spine1", silent=True)
        assert not reaches(lab, "host0", "host1", 0.2)
        lab.set_link("leaf0", "spine1", silent=False)
        assert reaches(lab, "host0", "host1")
        assert lab.interface("spine1", "leaf0") == "spine1-leaf0"
        assert lab.interface("host1", "leaf1") == lab.hosts["host1"].interface
        with pytest.raises(AnabranchError, match="no such link"):
            lab.set_link("leaf0", "leaf1", up=False)


def test_shaping_outlives_a_crash_of_the_switch(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        open_vswitch(lab).kill("ovs-vswitchd")
        lab.start_switch()
        single_path.install(lab, "spine0")
        assert reaches(lab, "host0", "host1")
        assert_goodput(lab, "host0", "host1", 50e6)


@pytest.mark.parametrize("crash", [False, True])
def test_queues_hold_what_the_scenario_says(tmp_path: Path, crash: bool) -> None:
    frames, size = 300, 1442
    fabric = SMALL.replace("}", f', buffer = "{frames * size} B" }}')
    with lab_of(tmp_path, fabric) as lab:
        if crash:
            open_vswitch(lab).kill("ovs-vswitchd")
            lab.start_switch()
        single_path.install(lab, "spine0")
        assert reaches(lab, "host0", "host1")
        lab.set_link("host0", "leaf0", rate_bps=1_000_000_000)
        lab.set_link("leaf0", "spine0", rate_bps=1_000_000)
        device, waited, deadline = lab.interface("leaf0", "spine0"), 0, time.monotonic() + DEADLINE_S
        with inside(lab.hosts["host0"].namespace):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sender, QueueReader(lab.blueprint.switch_namespace, [device]) as queue:
            # A frame leaves in 12 ms: one that is dropped is dropped by a full queue, and the next look sees that.
            while (now := queue.read()[device]).dropped_packets < frames or waited < (frames - 5) * size:
                assert time.monotonic() < deadline, (now, waited)
                waited = max(waited, now.backlog_bytes)
                for _ in range(30):
                    sender.sendto(bytes(size - 42), (lab.hosts["host1"].address, 9))
        assert waited <= frames * size


def test_segments_may_pass_whole(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL, tso=True) as lab:
        single_path.install(lab, "spine0")
        assert goodput_bps(lab.hosts["host0"], lab.hosts["host1"], 2) > 1e6


def test_labs_stand_side_by_side(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as one:
        with lab_of(tmp_path, SMALL) as other:
            for lab in (one, other):
                single_path.install(lab, "spine0")
                assert reaches(lab, "host0", "host1")
        assert_nothing_left(other.name)
        assert reaches(one, "host1", "host0")
    one.down()
    assert_nothing_left(one.name)


def test_up_again_finds_the_lab(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        scenario = tmp_path / "scenario.toml"
        before = open_vswitch(lab).pid("ovs-vswitchd")
        assert open_vswitch(Lab.up(scenario, lab.name)).pid("ovs-vswitchd") == before
        for daemon in ("ovs-vswitchd", "ovsdb-server"):
            open_vswitch(lab).kill(daemon)
        assert open_vswitch(Lab.up(scenario, lab.name)).pid("ovs-vswitchd") not in (None, before)
        assert Lab.open(lab.name).hosts == lab.hosts
        with pytest.raises(AnabranchError, match="up with something else"):
            Lab.up(scenario, lab.name, scale=0.5)
    with pytest.raises(AnabranchError, match="not up"):
        Lab.open(lab.name)


def test_a_name_that_another_has_is_refused(tmp_path: Path) -> None:
    need_ovs_lab()
    name = new_name()
    theirs = f"anabranch.{name}.host0"
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    subprocess.run(["ip", "netns", "add", theirs], check=True)
    try:
        with pytest.raises(AnabranchError, match="is there already"):
            Lab.up(scenario, name)
        assert theirs in present()
        assert not remove(name)
        assert theirs in present()
    finally:
        subprocess.run(["ip", "netns", "del", theirs], check=True)


def test_what_cannot_be_built_leaves_nothing(tmp_path: Path) -> None:
    need_ovs_lab()
    name = new_name()
    scenario = tmp_path / "scenario.toml"
    # A device of this name cannot be: lo is there in every namespace.
    edges = 'edge = [{ from = "h0", to = "lo" }, { from = "h1", to = "lo" }]'
    scenario.write_text(f'[fabric]\nkind = "graph"\n{edges}\n')
    with pytest.raises(AnabranchError):
        Lab.up(scenario, name)
    assert_nothing_left(name)


def test_without_the_privilege_it_says_what_to_do(tmp_path: Path) -> None:
    need_ovs_lab()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    lacking = ["setpriv", "--bounding-set=-net_admin,-sys_admin", "--inh-caps=-all"]
    command = [*lacking, sys.executable, "-m", "anabranch", "lab", "up", str(scenario), "--name", new_name()]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)" in run.stderr


def start_up(scenario: Path, name: str) -> subprocess.Popen[bytes]:
    """Has another process make a lab; returns when it has begun."""
    command = [sys.executable, "-m", "anabranch", "lab", "up", str(scenario), "--name", name]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + DEADLINE_S
    while not (record.LABS / name).exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    return run


@pytest.mark.parametrize(("part", "hosts", "within_s"), [(0, 1, 0.4), (1, 1, 0.4), (2, 1, 0.2), (3, 30, 0.1)])
def test_a_crash_while_it_is_made_leaves_nothing(tmp_path: Path, part: int, hosts: int, within_s: float) -> None:
    need_ovs_lab()
    name = new_name()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL.replace('leaf = 1', f'leaf = {hosts}')}\n")
    chance = random.Random(part)
    for _ in range(2):
        with start_up(scenario, name) as run:
            time.sleep(chance.uniform(0, within_s))
            run.send_signal(signal.SIGKILL)
        remove(name)
        assert_nothing_left(name)


def test_a_crash_while_it_is_removed_leaves_nothing(tmp_path: Path) -> None:
    need_ovs_lab()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    chance = random.Random(0)
    lab = Lab.up(scenario, new_name())
    script = "import sys; from anabranch.lab.fabric.topology import remove; remove(sys.argv[1])"
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", script, lab.name]) as run:
            time.sleep(chance.uniform(0.1, 0.4))
            run.send_signal(signal.SIGKILL)
    remove(lab.name)
    assert_nothing_left(lab.name)


def test_two_who_make_the_same_lab_make_one(tmp_path: Path) -> None:
    need_ovs_lab()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    name = new_name()
    try:
        runs = [start_up(scenario, name) for _ in range(2)]
        assert [run.wait(timeout=120) for run in runs] == [0, 0]
        assert reaches_after_rules(Lab.open(name))
    finally:
        remove(name)


def reaches_after_rules(lab: Lab) -> bool:
    single_path.install(lab)
    return reaches(lab, "host0", "host1")


def test_a_record_that_names_others_is_not_followed(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        good = (lab.folder / record.FILE).read_text()
        others = good.replace(f"anabranch.{lab.name}.host0", "other")
        for broken in (others, "{}", "[1]", good.replace(lab.record.mark, "")):
            (lab.folder / record.FILE).write_text(broken)
            with pytest.raises(AnabranchError, match="not the record of a lab"):
                remove(lab.name)
        # Another version's keys do not keep a lab from being removed.
        (lab.folder / record.FILE).write_text(good.replace('"scale"', '"later"'))
        with pytest.raises(AnabranchError, match="not the record of a lab"):
            Lab.open(lab.name)
    assert_nothing_left(lab.name)


def test_a_half_made_lab_is_made_anew(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        broken = record.read(lab.name)
        assert broken is not None
        record.write(record.Record(**vars(broken) | {"complete": False}))
        with pytest.raises(AnabranchError, match="not whole"):
            Lab.open(lab.name)
        open_vswitch(lab).kill("ovsdb-server")
        again = Lab.up(tmp_path / "scenario.toml", lab.name)
        single_path.install(again, "spine0")
        assert reaches(again, "host0", "host1")


def test_processes_in_a_lab_end_with_it_and_no_others(tmp_path: Path) -> None:
    with lab_of(tmp_path, SMALL) as lab:
        outside = subprocess.Popen(["sleep", "600"])
        # One that ignores SIGTERM, as a stuck program does.
        script = "trap '' TERM; echo; sleep 600 & wait; wait"
        inner = subprocess.Popen([*lab.hosts["host0"].enter, "sh", "-c", script], stdout=subprocess.PIPE)
        assert inner.stdout is not None
        inner.stdout.readline()
        lab.down()
        assert inner.wait(timeout=DEADLINE_S) == -signal.SIGKILL
        assert outside.poll() is None
        inner.stdout.close()
        outside.kill()
        outside.wait()


def test_the_fabric_file_has_the_scaled_fabric(tmp_path: Path) -> None:
    fabric = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nuplink = { rate = "40 Gbps" }'
    with lab_of(tmp_path, fabric, scale=0.001, bfd_ms=100) as lab:
        text = lab.fabric_file.read_text()
        topology = _core.Fabric(re.split(r"\n(?=\[)", text)[0], "fabric.toml").topology()
        assert set(topology["ports"]["rate_bps"]) == {10_000_000, 40_000_000}
        assert f'ports = {{ host0 = "{lab.interface("leaf0", "host0")}", spine0 = "leaf0-spine0" }}' in text
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            said = open_vswitch(lab).vsctl("--columns=bfd_status", "list", "interface")
            if len(re.findall(r"[ {]state=up", said)) == 4:
                break
            time.sleep(0.1)
        else:
            raise AssertionError(said)
