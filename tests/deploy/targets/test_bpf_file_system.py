"""The BPF file system on a machine where nobody mounted it: mounted once, by whoever may, and so that it stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from anabranch.files.project.studies.valo.lab.accuracy import SCHEMES
from support.lab_fixture import need_kernel_lab, new_name

OWN_WORLD = Path(__file__).parents[2] / "own_world.sh"
MACHINE = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Mounts of its own, and a first process that has them too."""
MOUNTS = ("unshare", "--mount", "--net")
"""Mounts like those of `ip netns exec`, which the first process does not have."""
BARE = """
while grep -q ' /sys/fs/bpf bpf ' /proc/mounts; do umount /sys/fs/bpf; done
mount -t tmpfs tmpfs /run
"""
"""A machine that has just been started."""
CALL = "from anabranch import _core; _core.require_bpf_file_system()"
REQUIRE = f'"$PYTHON" -c "{CALL}"'
FILE_SYSTEMS = "grep ' /sys/fs/bpf bpf ' /proc/mounts || true"
BESIDE_ANOTHER = """
import fcntl, os, subprocess, sys, time
below = os.open("/sys/fs/bpf", os.O_RDONLY | os.O_DIRECTORY)
fcntl.flock(below, fcntl.LOCK_EX)
second = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
def waits():
    return any("->" in line and f" {second.pid} " in line for line in open("/proc/locks"))
while second.poll() is None and not waits():
    time.sleep(0.01)
subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
os.close(below)
sys.exit(second.wait())
"""
"""The first of two processes that mount it: it has seen that there is none, and goes on once the second has, too."""
SCENARIO = """\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
link = { rate = "10 Gbps" }
"""
STUDY = """
from dataclasses import replace
from pathlib import Path
from rich.console import Console
from anabranch.reproduce.backends.backend import Context
from anabranch.files.project.studies.valo.lab import fig10
from anabranch.reproduce.selection import select
study = fig10.AccuracyLab().prepare(select(["valo/lab"])[0], True, Path("runs"))
small = fig10.Settings((2, 4), 2000, 1, 1, 0.0)
replace(study, settings=small).run(Context([], True, print)).show(Console(width=300))
"""
DATAPATHS = "tests/lab/test_lab_ebpf.py::test_weights_that_fit_no_group_are_refused"


def bare(script: str, *arguments: str, world: tuple[str, ...] = MACHINE) -> subprocess.CompletedProcess[str]:
    """A shell's script on a bare machine, where `$PYTHON` is this Python."""
    need_kernel_lab()
    environment = {name: value for name, value in os.environ.items() if name != "ANABRANCH_OWN_WORLD"}
    return subprocess.run(
        [*world, "bash", "-c", f"{BARE}{script}\nexit", "bash", *arguments],
        env=environment | {"PYTHON": sys.executable},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_mounted_where_it_is_missing() -> None:
    run = bare(f"{REQUIRE} && {REQUIRE} && {FILE_SYSTEMS}")
    assert run.returncode == 0, run.stderr
    (mount,) = run.stdout.splitlines()
    assert set(mount.split()[3].split(",")) >= {"rw", "nosuid", "nodev", "noexec", "mode=700"}


def test_sys_may_be_read_only() -> None:
    run = bare(f"mount -o remount,bind,ro /sys && {REQUIRE} && {FILE_SYSTEMS}")
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 1


def test_two_processes_at_the_same_time_mount_one() -> None:
    # A second one would hide what is pinned in the first.
    run = bare(f'"$PYTHON" -c "$1" "$2" && {FILE_SYSTEMS}', BESIDE_ANOTHER, CALL)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 1


def test_without_the_privilege_the_command_is_named() -> None:
    # A user who may read the checkout, wherever it is, and nothing else.
    reads = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
    nobody = f"setpriv --reuid=65534 --regid=65534 --clear-groups {reads}"
    run = bare(f"{nobody} {REQUIRE}; {FILE_SYSTEMS}")
    assert "this user may not mount one; hint: as root, mount -t bpf bpf /sys/fs/bpf\n" in run.stderr
    # Root without CAP_SYS_ADMIN, as in most containers.
    run = bare(f"setpriv --bounding-set=-sys_admin {REQUIRE}; {FILE_SYSTEMS}")
    assert "this user may not mount one; hint: as root, mount -t bpf bpf /sys/fs/bpf\n" in run.stderr
    assert run.stdout == ""


def test_where_all_pins_would_end_with_the_command_nothing_is_mounted() -> None:
    run = bare(f"{REQUIRE}; {FILE_SYSTEMS}", world=MOUNTS)
    assert "nsenter --net=/run/netns/NAME" in run.stderr
    assert run.stdout == ""


def test_to_ask_for_it_changes_nothing() -> None:
    probe = "from anabranch import _core; [print(there, note) for _, there, note in _core.probe_kernel()]"
    run = bare(f'"$PYTHON" -c "$1"; {FILE_SYSTEMS}', probe)
    assert run.returncode == 0, run.stderr
    release, file_system, privileges = run.stdout.splitlines()
    assert release.startswith("True ")
    assert file_system == "True not mounted; it is when something needs it"
    assert privileges.startswith("True ")
    run = bare(f'"$PYTHON" -c "$1"; {FILE_SYSTEMS}', probe, world=MOUNTS)
    assert run.stdout.splitlines()[1].startswith("False /sys/fs/bpf: no BPF file system here")


def test_a_lab_of_datapaths_is_made_on_a_bare_machine(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    lab = '"$PYTHON" -m anabranch lab'
    run = bare(f'{lab} up "$1" --switch ebpf -n "$2" && {lab} down "$2"', str(scenario), new_name())
    assert run.returncode == 0, run.stderr
    assert "2 hosts, 3 switches" in run.stdout


def test_tests_prepare_what_they_need_themselves() -> None:
    # An earlier run's leavings are not to be seen in there either.
    left = "mkdir -p /run/netns /run/anabranch/lab/left && touch /run/netns/left"
    seen = f"ls -A /run; ls -d /sys/fs/bpf/anabranch; {FILE_SYSTEMS}; ip -brief link | cut -c 1-2"
    run = bare(f'{left}; {OWN_WORLD} sh -c "$1"', seen, world=MOUNTS)
    (mount, device) = run.stdout.splitlines()
    assert mount.split()[2] == "bpf"
    assert device == "lo"
    run = bare(f'{left}; "$PYTHON" -m pytest -p no:cacheprovider -n 0 -q {DATAPATHS}', world=MOUNTS)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout


def test_a_study_leaves_out_what_the_machine_cannot_do(tmp_path: Path) -> None:
    run = bare('cd "$1"; "$PYTHON" -c "$2"', str(tmp_path), STUDY, world=MOUNTS)
    assert run.returncode == 0, run.stderr
    assert "lab-valo: rows kernel-... are left out: BPF file system: /sys/fs/bpf: no BPF file system here" in run.stdout
    found = json.loads((tmp_path / "runs" / "lab-valo-quick" / "result.json").read_text())
    schemes = {line["scheme"] for line in found["accuracy"]}
    assert schemes == set(SCHEMES)
