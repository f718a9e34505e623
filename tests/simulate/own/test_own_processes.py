"""Cells of schemes in Python in processes beside this one: the same bits, the same errors, no leftovers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.simulate.runs.folder import check_writable
from anabranch.simulate.study import cell_process
from anabranch.simulate.study.cell_process import CellProcesses, ProcessProgress
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.local import run_local
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.small_scenario import write_small

SCHEMES = """\
import os
import anabranch as ab


class Prints(ab.Scheme):
    def pick(self, packet, view):
        print(packet.flow)
        return int(view.random() * len(view.members))


class Dies(ab.Scheme):
    def pick(self, packet, view):
        if view.now_ns > 100_000:
            os._exit(7)
        return 0


class FailsLater(ab.Scheme):
    def pick(self, packet, view):
        if view.now_ns > 100_000:
            raise ValueError("late")
        return 0
"""


def study(where: Path, scheme: str) -> Path:
    write_small(where)
    (where / "schemes.py").write_text(SCHEMES)
    path = where / "study.toml"
    path.write_text(
        f'name = "own"\nseeds = 2\nscenario = "small.toml"\n[axes]\nrouting.balance = ["schemes.py:{scheme}"]\n'
    )
    return path


def jobs_of(where: Path, scheme: str, runs: str) -> list[Job]:
    sweep = resolve(load_study(study(where, scheme)), where / runs)
    check_writable(sweep.folder)
    return sweep.missing


def test_processes_yield_the_bits_of_this_one(tmp_path: Path) -> None:
    for runs, at_once in (("here", 1), ("beside", 2)):
        run_local(jobs_of(tmp_path, "Prints", runs), ["anabranch"], lambda *_: None, at_once=at_once)
    here, beside = (sorted((tmp_path / runs).glob("own/*/flows.parquet")) for runs in ("here", "beside"))
    assert len(here) == 2
    assert [path.read_bytes() for path in here] == [path.read_bytes() for path in beside]


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (
            "FailsLater",
            "at routing.balance FailsLater, seed 1: schemes.py:FailsLater: schemes.py:21: pick: ValueError: late",
        ),
        ("Dies", "at routing.balance Dies, seed 1: its process ended with status 7"),
    ],
)
def test_a_process_that_fails_names_its_cell_and_the_next_one_runs(tmp_path: Path, scheme: str, message: str) -> None:
    (failing, _), (working, _) = jobs_of(tmp_path, scheme, "runs"), jobs_of(tmp_path, "Prints", "runs")
    with CellProcesses() as processes:
        with pytest.raises(ab.AnabranchError) as raised:
            processes.run(failing, ProcessProgress(), [])
        assert str(raised.value) == message
        processes.run(working, ProcessProgress(), [])
    assert (working.folder / "manifest.json").is_file()
    assert not failing.folder.exists()


def test_a_cancelled_cell_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job, _) = jobs_of(tmp_path, "Prints", "runs")
    start, started = cell_process._start, []

    def noted() -> subprocess.Popen[bytes]:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(cell_process, "_start", noted)
    progress = ProcessProgress()
    progress.cancel()
    with CellProcesses() as processes, pytest.raises(KeyboardInterrupt):
        processes.run(job, progress, [])
    (process,) = started
    assert process.poll() is not None
