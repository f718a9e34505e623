"""Datapaths of network namespaces that have ended: told apart from those of living ones, listed and collected."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.deploy.netlink.namespace import NAMED, inside
from anabranch.deploy.targets.ebpf import leftovers
from anabranch.deploy.targets.ebpf.folder import ROOT
from anabranch.lab.fabric.record import MARK
from anabranch.lab.switches.ebpf import pins
from support.command import anabranch
from support.own_datapaths import ip, pairs, with_own_datapaths

PATIENCE_S = 120.0
"""Deadline of the kernel's end of a namespace: no measure of speed, only of never."""
PLAN = """\
seed = 7
[switch]
dev = ["in"]
[[group]]
name = "a"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2"]
"""
STALE = ("remove", "--target", "ebpf", "--stale")


def stale(*options: str) -> str:
    run = anabranch(*STALE, *options)
    assert run.returncode == 0, run.stderr
    return run.stdout


@contextmanager
def planned(name: str, tmp_path: Path, *, attached: bool = True) -> Iterator[str]:
    """A named namespace with a plan applied in it; its number."""
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    ip("netns", "add", name)
    try:
        with inside(name):
            pairs("in", "e1", "e2")
            assert anabranch("apply", str(file), "--target", "ebpf").returncode == 0
            if not attached:
                ip("link", "del", "in")
        yield str((NAMED / name).stat().st_ino)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def await_listed(number: str) -> None:
    """The kernel ends a namespace in its own time."""
    deadline = time.monotonic() + PATIENCE_S
    while number not in stale("--dry-run"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def retired(number: str) -> str:
    """Renames the folder of a namespace that ends, to a number that none can have, for inode numbers have 32 bits.

    The kernel gives the old one to the next namespace at once, and that may be another test's.
    """
    other = str(int(number) + (1 << 32))
    (ROOT / number).rename(ROOT / other)
    return other


@with_own_datapaths
def test_what_has_ended_goes_and_what_lives_stays(tmp_path: Path) -> None:
    assert "nothing to do" in stale()
    assert not ROOT.exists()
    pairs("in", "e1", "e2")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    assert anabranch("apply", str(file), "--target", "ebpf").returncode == 0
    own = str(Path("/proc/thread-self/ns/net").stat().st_ino)
    with planned("ended", tmp_path) as ended, planned("bare", tmp_path, attached=False) as bare:
        # One that loses its name while a process is in it.
        with planned("occupied", tmp_path, attached=False) as occupied, inside("occupied"):
            sleeping = subprocess.Popen(["sleep", "1000"])
        try:
            assert "nothing to do" in stale("--dry-run")
        finally:
            sleeping.kill()
            sleeping.wait()
        gone = [retired(occupied)]
        await_listed(gone[0])
    gone += [retired(ended), retired(bare)]
    for number in gone:
        await_listed(number)
    with planned("living", tmp_path, attached=False) as living:
        dry = stale("--dry-run")
        assert dry.splitlines() == [
            f"- datapath plan of network namespace {number}, which has ended" for number in sorted(gone, key=int)
        ]
        found = json.loads(anabranch("doctor", "--json", "-").stdout)["findings"]
        (counted,) = (one["found"] for one in found if "that have ended" in one["what"])
        assert counted.startswith(f"{len(gone)} in {len(gone)}: {min(gone, key=int)}: plan, ")
        assert {path.name for path in ROOT.iterdir()} == {own, living, *gone}
        document = json.loads(stale("--dry-run", "--json", "-"))
        assert (document["changes"], document["lines"], document["plan"]) == (len(gone), dry.splitlines(), None)
        assert stale() == dry
        assert {path.name for path in ROOT.iterdir()} == {own, living}
        assert "nothing to do" in stale()
        # A name is not all that keeps a namespace: an open file does too.
        kept = os.open(NAMED / "living", os.O_RDONLY)
        try:
            ip("netns", "del", "living")
            assert "nothing to do" in stale()
        finally:
            os.close(kept)
        await_listed(retired(living))
        stale()
    assert {path.name for path in ROOT.iterdir()} == {own}
    assert anabranch("diff", str(file), "--target", "ebpf").returncode == 0


def without_ptrace(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run by root without CAP_SYS_PTRACE, as in a container: processes that have it cannot be read."""
    lacking = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    command = [*lacking, sys.executable, "-m", "anabranch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@with_own_datapaths
def test_a_process_that_cannot_be_read_does_not_keep_all(tmp_path: Path) -> None:
    gone, occupation = (planned("ended", tmp_path), planned("empty", tmp_path)), planned("occupied", tmp_path)
    with gone[0] as ended, gone[1] as empty, occupation as occupied, inside("occupied"):
        sleeping = subprocess.Popen(["sleep", "1000"])
    try:
        ended, empty = retired(ended), retired(empty)
        await_listed(ended)
        for pin in (ROOT / empty).iterdir():
            shutil.rmtree(pin)
        run = without_ptrace(*STALE, "--dry-run")
        lines = run.stdout.splitlines()
        assert lines[0] == f"- datapath plan of network namespace {ended}, which has ended", run.stderr
        # Its devices live: the kernel says so, whoever holds it. Of an empty folder nobody can say anything.
        assert lines[1].startswith(f"note: kept: {empty}, for processes that this user may not read could hold these")
        assert re.search(r": \d+ \(\S+\).*; give CAP_SYS_PTRACE, or run this as root of the machine$", lines[1])
        assert len(lines) == 2
        found = json.loads(without_ptrace("doctor", "--json", "-").stdout)["findings"]
        counted = {
            one["what"].rpartition("namespaces ")[2]: one["found"] for one in found if "datapaths of" in one["what"]
        }
        assert counted == {
            "that have ended": f"1 in 1: {ended}: plan",
            "that may have ended": f"0 in 1: {empty}: empty",
        }
        assert without_ptrace(*STALE).returncode == 0
        assert {path.name for path in ROOT.iterdir()} == {occupied, empty}
        assert stale() == f"- empty folder of network namespace {empty}, which has ended\n"
        assert {path.name for path in ROOT.iterdir()} == {occupied}
    finally:
        sleeping.kill()
        sleeping.wait()
    await_listed(retired(occupied))
    stale()
    assert not ROOT.exists()


@with_own_datapaths
def test_a_lab_without_a_record_is_removed_by_its_pins(tmp_path: Path) -> None:
    with planned("lost", tmp_path) as number, planned("other", tmp_path) as other:
        for folder, lab in ((number, "lost"), (other, "lost-2")):
            (ROOT / folder / pins.OWNER).symlink_to(f"{MARK}={lab}.0011223344556677")
        assert anabranch("lab", "down", "lost").stdout == "lost: not there\n"
    number, other = retired(number), retired(other)
    await_listed(number)
    await_listed(other)
    assert anabranch("lab", "down", "lost").stdout == "lost: removed\n"
    assert [path.name for path in ROOT.iterdir()] == [other]
    # `--all` would remove the labs of other tests too: this is what it takes beside those that have a record.
    assert pins.lost_labs() == ["lost-2"]
    assert anabranch("lab", "down", "lost-2").stdout == "lost-2: removed\n"
    assert not ROOT.exists()


@pytest.mark.parametrize("moment", ["living_namespaces", "_attached"])
def test_what_goes_while_it_is_listed_is_no_error(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "ROOT", tmp_path)
    numbers = [str(number << 32) for number in (1, 2)]
    for number in numbers:
        (tmp_path / number / "plan").mkdir(parents=True)
    known = getattr(leftovers, moment)

    def removed_before(*arguments: Path) -> object:
        shutil.rmtree(tmp_path / numbers[0], ignore_errors=True)
        return known(*arguments)

    monkeypatch.setattr(leftovers, moment, removed_before)
    found = leftovers.leftovers()
    assert [one.folder.name for one in (*found.ended, *found.unsure)] == numbers[moment == "living_namespaces" :]


def test_stale_takes_no_plan_and_no_other_options() -> None:
    for arguments, said in (
        (("remove",), "plan: missing; name the plan whose owner's rules shall go, as in anabranch remove plan.toml"),
        (("remove", "--stale"), "stale: with --target ebpf, and without a plan, only; write anabranch remove --target"),
        ((*STALE, "plan.toml"), "stale: with --target ebpf, and without a plan, only"),
        ((*STALE, "--hook", "xdp"), "hook: not used with --stale; leave it out"),
    ):
        run = anabranch(*arguments)
        assert run.returncode == 2
        assert said in run.stderr
