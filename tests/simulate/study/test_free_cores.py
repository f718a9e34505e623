"""Cores that no other cell will take go to the last cells of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Barrier, Event, Lock
from typing import Any

import pytest

import anabranch as ab
from anabranch._core import Progress
from anabranch.simulate.study import local
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.small_scenario import STUDY, write_small_study
from support.waiting import DEADLINE_S

WIDE: dict[str, Any] = {
    "name": "wide",
    "fabric": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "link": {"rate": "400 Gbps"}},
    "traffic": [{"sizes": "web-search", "load": 0.6, "duration": "100 us"}],
    "transport": {"kind": "dctcp"},
}
"""Thousands of packet-hops in each window."""


def jobs_of(folder: Path, number: int) -> list[Job]:
    study = STUDY.replace("seeds = 2", f"seeds = {number}").partition("[axes]")[0]
    return list(resolve(load_study(write_small_study(folder, study)), folder).jobs.values())


@pytest.mark.parametrize(
    ("cells", "cores", "threads"),
    [(1, 1, [1]), (1, 4, [4]), (2, 4, [2, 2]), (3, 4, [1, 1, 2]), (3, 8, [2, 3, 3]), (4, 4, [1, 1, 1, 1])],
)
def test_cells_share_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int, cores: int, threads: list[int]
) -> None:
    given: dict[Path, int] = {}
    together = Barrier(cells, timeout=DEADLINE_S)

    def run(job: Job, _progress: Progress, _command: Sequence[str], threads: int) -> None:
        given[job.folder] = threads
        together.wait()

    monkeypatch.setattr(local, "run_here", run)
    monkeypatch.setattr(local, "cores", lambda: cores)
    jobs = jobs_of(tmp_path, cells)
    local.run_local(jobs, [], lambda *_: None)
    assert [given[job.folder] for job in jobs] == threads


def test_threads_of_all_cells_are_never_more_than_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, all_taken, running, most = Lock(), Event(), 0, 0
    given: list[int] = []

    def run(_job: Job, _progress: Progress, _command: Sequence[str], threads: int) -> None:
        nonlocal running, most
        with lock:
            running += threads
            most = max(most, running)
            given.append(threads)
            if running == 3:
                all_taken.set()
        # Before a cell ends.
        assert all_taken.wait(DEADLINE_S)
        with lock:
            running -= threads

    monkeypatch.setattr(local, "run_here", run)
    jobs = jobs_of(tmp_path, 9)
    local.run_local(jobs, [], lambda *_: None, at_once=3)
    assert (len(given), given[:3], most) == (9, [1, 1, 1], 3)


def test_a_cell_alone_takes_all_cores_and_has_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = min(2, local.cores())
    monkeypatch.setattr(local, "cores", lambda: 2)
    study = {"name": "cells", "scenario": WIDE, "axes": {}}
    alone = ab.sweep({**study, "seeds": 1}, runs=tmp_path / "alone", progress=False)
    several = ab.sweep({**study, "seeds": 2}, runs=tmp_path / "several", progress=False)
    threads = [ab.Run(cell.folder).manifest["threads"] for cell in (*alone.cells, *several.cells)]
    assert threads == [most, 1, 1]
    one, other = alone.cells[0].folder, several.cells[0].folder
    assert one.name == other.name
    for table in ("flows", "ports"):
        assert (one / f"{table}.parquet").read_bytes() == (other / f"{table}.parquet").read_bytes()
