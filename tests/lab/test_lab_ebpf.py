"""Labs whose switches are datapaths in the kernel: what they carry, and that nothing of them stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.netlink.namespace import NAMED
from anabranch.deploy.targets.ebpf.folder import ROOT, folder_of
from anabranch.lab.fabric import record, single_path
from anabranch.lab.fabric.iproute import present
from anabranch.lab.fabric.topology import Lab, remove
from anabranch.lab.switches.ebpf import groups as datapaths
from anabranch.lab.switches.ebpf import pins
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.lab.traffic.bursts import frames
from anabranch.lab.traffic.paced_sender import PacedSender
from anabranch.split.tuples import five_tuples
from support.lab_fixture import assert_goodput, kernel_lab_of, need_kernel_lab, new_name, reaches
from support.waiting import DEADLINE_S

SMALL = 'kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nlink = { rate = "50 Mbps" }'
PACKETS = 4000


def folders() -> set[str]:
    """Folders of all namespaces with datapaths on this machine."""
    with suppress(FileNotFoundError):
        return {path.name for path in ROOT.iterdir()}
    return set()


def owned(mark: str) -> list[Path]:
    """Folders that a lab says are its own."""
    found = []
    for name in folders():
        # Those of other labs may go meanwhile.
        with suppress(OSError):
            if str((ROOT / name / pins.OWNER).readlink()).startswith(mark):
                found.append(ROOT / name)
    return found


def assert_nothing_left(name: str) -> None:
    assert not [namespace for namespace in present() if name in namespace]
    assert not (record.LABS / name).exists()
    assert not owned(f"ANABRANCH_LAB={name}.")


def test_hosts_reach_each_other_and_links_have_their_rate(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, SMALL) as lab:
        assert not reaches(lab, "host0", "host2", 0.2)
        single_path.install(lab, "spine1")
        assert reaches(lab, "host0", "host2")
        assert reaches(lab, "host1", "host0")
        assert_goodput(lab, "host0", "host2", 50e6)
        lab.set_link("leaf0", "spine1", up=False)
        assert not reaches(lab, "host0", "host2", 0.2)
        lab.set_link("leaf0", "spine1", up=True)
        assert reaches(lab, "host0", "host2")
    assert_nothing_left(lab.name)


def test_every_scheme_forwards_over_all_paths_by_their_weights(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, SMALL.replace("50 Mbps", "10 Gbps")) as lab:
        next_hops = datapaths.next_hops(lab)
        assert next_hops["leaf0", "leaf1"] == ["leaf0-spine0", "leaf0-spine1"]
        source, target = lab.hosts["host0"], lab.hosts["host2"]
        ports = random.Random(3).sample(range(1024, 65000), PACKETS)
        tuples = five_tuples(source.address, target.address, "udp", ports, 9)
        wave = frames(tuples, source.mac, target.mac, payload=20)
        for scheme in _core.KERNEL_SCHEMES:
            made = datapaths.install(lab, scheme, weights={("leaf0", "leaf1"): (3, 1)}, pause_ns=1_000_000)
            assert set(made) == set(lab.switches)
            with PacedSender((source.namespace, source.interface), (target.namespace, target.interface)) as sender:
                sender.send(wave)
            leaf = made["leaf0"]
            names = [group.name for group in leaf.observed()]
            members = leaf.counters()[names.index("leaf1")]
            assert sum(packets for packets, _ in members) == PACKETS
            # Six standard deviations where the kernel's random numbers choose.
            assert members[0][0] / PACKETS == pytest.approx(0.75, abs=0.041), scheme


def test_weights_that_fit_no_group_are_refused(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, SMALL) as lab:
        with pytest.raises(AnabranchError, match="3 for 2 next hops"):
            datapaths.install(lab, weights={("leaf0", "leaf1"): (1, 2, 3)})
        with pytest.raises(AnabranchError, match="no switch and a leaf"):
            datapaths.install(lab, weights={("leaf0", "leaf0"): (1,)})
        with pytest.raises(AnabranchError, match="no Open vSwitch in it"):
            _ = open_vswitch(lab)
        datapaths.install(lab, weights={("leaf0", "leaf1"): (0, 1), ("leaf1", "leaf0"): (0, 1)})
        assert reaches(lab, "host0", "host2")
        lab.set_link("leaf0", "spine0", up=False)
        assert reaches(lab, "host0", "host2")


def test_labs_stand_side_by_side_and_take_their_own_away(tmp_path: Path) -> None:
    with kernel_lab_of(tmp_path, SMALL) as one:
        with kernel_lab_of(tmp_path, SMALL) as other:
            for lab in (one, other):
                datapaths.install(lab)
                assert reaches(lab, "host0", "host2")
        assert_nothing_left(other.name)
        assert reaches(one, "host0", "host2")
        again = Lab.up(tmp_path / "scenario.toml", one.name, switch="ebpf")
        assert reaches(again, "host0", "host2")
        with pytest.raises(AnabranchError, match="up with something else"):
            Lab.up(tmp_path / "scenario.toml", one.name)


def test_a_folder_of_an_ended_namespace_is_not_taken_for_the_labs() -> None:
    need_kernel_lab()
    # Numbers of namespaces are used again: the folder of one that ended lies where a new one's is to be.
    name = new_name()
    subprocess.run(["ip", "netns", "add", name], check=True)
    folder = folder_of((NAMED / name).stat().st_ino)
    try:
        _core.KernelDatapath.create(str(folder / "left"), "slots", 1, 2)
        pins.claim(name, "ANABRANCH_LAB=other")
        assert [path.name for path in folder.iterdir()] == [pins.OWNER]
        pins.remove([], "ANABRANCH_LAB=another")
        assert folder.exists()
        pins.remove([], "ANABRANCH_LAB=other")
        # Before the namespace ends: then another test's may have its number.
        assert not folder.exists()
    finally:
        pins.remove([name], "ANABRANCH_LAB=other")
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.parametrize("within_s", [0.3, 0.8])
def test_a_crash_while_it_is_made_leaves_nothing(tmp_path: Path, within_s: float) -> None:
    need_kernel_lab()
    name = new_name()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    script = (
        "import sys; from pathlib import Path; from anabranch.lab.switches.ebpf import groups as datapaths\n"
        "from anabranch.lab.fabric.topology import Lab\n"
        "lab = Lab.up(Path(sys.argv[1]), sys.argv[2], switch='ebpf'); datapaths.install(lab, 'score')"
    )
    chance = random.Random(0)
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", script, str(scenario), name]) as run:
            deadline = time.monotonic() + DEADLINE_S
            while not (record.LABS / name).exists():
                assert run.poll() is None, "it ended before it began to make the lab"
                assert time.monotonic() < deadline, "it does not begin to make the lab"
                time.sleep(0.001)
            time.sleep(chance.uniform(0, within_s))
            os.kill(run.pid, signal.SIGKILL)
        remove(name)
        assert_nothing_left(name)


@pytest.mark.parametrize(
    ("option", "said"), [(["--tso"], "--tso"), (["--bfd", "10ms"], "--bfd"), (["--switch", "p4"], "take ovs or ebpf")]
)
def test_what_only_open_vswitch_has_is_refused(tmp_path: Path, option: list[str], said: str) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f"[fabric]\n{SMALL}\n")
    name = new_name()
    command = [sys.executable, "-m", "anabranch", "lab", "up", str(scenario), "-n", name, "--switch", "ebpf", *option]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert said in run.stderr
    assert not (record.LABS / name).exists()
