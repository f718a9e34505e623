"""Tables of datapaths over restarts and reboots: the kernel keeps their home, and `--state` keeps both in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import anabranch as ab
from anabranch._core import KernelDatapath
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.state_form import FORM
from support.command import Run, anabranch
from support.own_datapaths import ip, pairs, with_own_datapaths

HEAD = """\
seed = 7

[switch]
dev = ["in"]
"""
GROUP = """
[[group]]
name = "NAME"
match = { ip_dst = ["10.NUMBER.0.0/16"] }
ports = ["e1", "e2", "e3"]
weights = WEIGHTS
"""
HISTORY = [[4, 3, 2], [1, 9, 3], [7, 2, 5]]


def applied(folder: Path, weights: Sequence[int], *options: str, groups: int = 1) -> Run:
    """Applies a plan whose first group has these weights, in a process of its own."""
    texts = [GROUP.replace("NAME", f"g{number}").replace("NUMBER", str(number)) for number in range(1, groups + 1)]
    own, others = texts[0].replace("WEIGHTS", str(list(weights))), "".join(texts[1:]).replace("WEIGHTS", "[1, 1, 1]")
    plan = folder / "plan.toml"
    plan.write_text(HEAD + own + others)
    return anabranch("apply", str(plan), "--target", "ebpf", *options)


def done(run: Run) -> str:
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def table(name: str = "g1") -> bytes:
    """Table of a group that stands in the kernel."""
    datapath = KernelDatapath.open(own_folder() / "plan")
    assert datapath is not None
    return datapath.tables()[name]


def agrees(uninterrupted: ab.Splitter) -> bool:
    """Whether the kernel's table is that of a splitter that was never stopped."""
    return ab.Splitter.restore(table()).revision.digest == uninterrupted.revision.digest


@with_own_datapaths
def test_every_process_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    uninterrupted = ab.Splitter("min-move", HISTORY[0], slots=4096)
    for weights in HISTORY:
        done(applied(tmp_path, weights))
        uninterrupted.update(weights=weights)
        assert agrees(uninterrupted)
    for port, up in (("e2", [True, False, True]), ("e1", [False, True, True])):
        ip("link", "set", port, "down")
        done(applied(tmp_path, HISTORY[-1]))
        uninterrupted.update(up=up)
        assert agrees(uninterrupted)
        ip("link", "set", port, "up")
        done(applied(tmp_path, HISTORY[-1]))
        uninterrupted.update(up=[True] * 3)
        assert agrees(uninterrupted)


@with_own_datapaths
def test_a_datapath_that_needs_more_room_keeps_its_tables(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    for weights in HISTORY:
        done(applied(tmp_path, weights))
    before = table()
    assert "room for 16 groups" in done(applied(tmp_path, HISTORY[-1], groups=9))
    assert table() == before
    assert table("g9") != before


@with_own_datapaths
def test_a_new_datapath_goes_on_from_a_file(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    state = tmp_path / "plan.state"
    keeps = ("--state", str(state))
    for weights in HISTORY:
        done(applied(tmp_path, weights, *keeps))
    before = table()
    assert state_file.read(str(state), FORM) == {"g1": before}
    # As after a reboot: the kernel has nothing.
    done(anabranch("remove", str(tmp_path / "plan.toml"), "--target", "ebpf"))
    done(applied(tmp_path, HISTORY[-1]))
    assert table() != before
    done(anabranch("remove", str(tmp_path / "plan.toml"), "--target", "ebpf"))
    done(applied(tmp_path, HISTORY[-1], *keeps))
    assert table() == before
    # What fails and returns later displaces its own connections alone.
    uninterrupted = ab.Splitter.restore(before)
    ip("link", "set", "e3", "down")
    done(applied(tmp_path, HISTORY[-1], *keeps))
    uninterrupted.update(up=[True, True, False])
    assert agrees(uninterrupted)
    assert state_file.read(str(state), FORM) == {"g1": table()}


@with_own_datapaths
def test_a_file_that_is_missing_is_a_change_and_one_that_is_wrong_is_refused(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    state = tmp_path / "plan.state"
    done(applied(tmp_path, HISTORY[0]))
    plan = str(tmp_path / "plan.toml")
    shown = anabranch("diff", plan, "--target", "ebpf", "--state", str(state))
    assert shown.returncode == 1
    assert "tables of datapath plan in" in " ".join(shown.stdout.split())
    assert not state.exists()
    done(applied(tmp_path, HISTORY[0], "--state", str(state)))
    assert state_file.read(str(state), FORM) == {"g1": table()}
    before = table()
    state.write_text("[]")
    run = applied(tmp_path, HISTORY[1], "--state", str(state))
    assert run.returncode == 2
    assert run.stderr.startswith(f"anabranch: error: {state}: not the state of a datapath; hint: move it away")
    assert table() == before


@with_own_datapaths
def test_a_scheme_without_a_table_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    state = tmp_path / "plan.state"
    done(applied(tmp_path, HISTORY[0], "--state", str(state)))
    before = state.read_bytes()
    plan = tmp_path / "plan.toml"
    plan.write_text('scheme = "valo"\n' + plan.read_text())
    done(anabranch("apply", str(plan), "--target", "ebpf", "--state", str(state)))
    assert state.read_bytes() == before


def test_a_file_that_could_not_be_written_is_refused(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "plan.state"
    for file, why in (
        ("-", "stdout keeps nothing; hint: give a file"),
        (str(tmp_path), "a directory; hint: give a file in it"),
        (str(absent), f"there is no directory {absent.parent}; hint: make it first"),
    ):
        run = applied(tmp_path, HISTORY[0], "--state", file)
        assert run.returncode == 2
        assert run.stderr.startswith(f"anabranch: error: state: {file}: {why}"), run.stderr


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfe", "not the state of a datapath"),
        (b'{"format": 1}', "not the state of a datapath"),
        (b'{"format": 1, "tables": {"a": "?"}}', "not the state of a datapath"),
        (b'{"format": 1, "tables": {"a": 3}}', "not the state of a datapath"),
        (b"[" * 100_000, "not the state of a datapath"),
        (b'{"format": 2, "tables": {}}', "format: 2: this version reads 1"),
        (b'{"format": 1, "tables": {"a": "QUJD"}}', "tables: a: snapshot: does not begin with `ABGROUP"),
    ],
)
def test_what_is_no_state_is_refused_with_a_hint(content: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.state"
    file.write_bytes(content)
    with pytest.raises(ab.AnabranchError) as error:
        state_file.read(str(file), FORM)
    assert str(error.value).startswith(f"{file}: {why}")
    assert "; hint: move it away" in str(error.value)


def test_what_is_written_is_read_and_a_table_of_another_technique_is_none(tmp_path: Path) -> None:
    file = str(tmp_path / "plan.state")
    assert state_file.read(file, FORM) == {}
    tables = {"a": ab.Splitter("min-move", [4, 3, 2], slots=4096).snapshot()}
    state_file.write(file, FORM, tables)
    assert state_file.read(file, FORM) == tables
    assert json.loads(Path(file).read_text())["format"] == 1
    state_file.write(file, FORM, {"a": ab.Splitter("valo", [1, 1]).snapshot()})
    with pytest.raises(ab.AnabranchError, match="tables: a: of valo, not of min-move"):
        state_file.read(file, FORM)
