"""`anabranch sweep` from end to end, on the simulator itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.simulate.runs.folder import check_writable, read_manifest
from anabranch.simulate.study.dask_cluster import run_on_cluster
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import Sweep, resolve
from support.command import anabranch
from support.small_scenario import SMALL, STUDY, write_small_study
from support.waiting import DEADLINE_S


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a study and its results."""
    folder = tmp_path_factory.mktemp("sweep")
    done = anabranch("sweep", str(write_small_study(folder)), "--runs", str(folder / "runs"))
    assert done.returncode == 0, done.stderr
    assert "8 cells, 0 complete, 8 to run" in done.stdout
    assert re.search(r"^0\.5 +spray ", done.stdout, re.MULTILINE)
    return folder


def test_cells_are_what_single_runs_are(where: Path, tmp_path: Path) -> None:
    from anabranch.simulate.study.outcome import open_study

    for cell in open_study(where / "runs" / "both").cells:
        alone = ab.run(where / "small.toml", {**cell.point, "seed": cell.seed}, runs=tmp_path)
        assert alone.folder.name == cell.folder.name
        assert (alone.folder / "flows.parquet").read_bytes() == (cell.folder / "flows.parquet").read_bytes()


def test_schemes_see_the_same_flows_at_the_same_seed(where: Path) -> None:
    from anabranch.simulate.study.outcome import open_study

    lists: dict[tuple[float, int], list[object]] = {}
    for cell in open_study(where / "runs" / "both").cells:
        flows = ab.Run(cell.folder).flows.select("src", "dst", "size_bytes", "start_ns")
        lists.setdefault((cell.point["traffic.load"], cell.seed), []).append(flows.rows())
    assert len(lists) == 4
    assert all(ecmp == spray for ecmp, spray in lists.values())
    assert lists[0.3, 1] != lists[0.3, 2]


def test_only_what_is_missing_is_run(where: Path) -> None:
    study = where / "runs" / "both"
    sweep = resolve(load_study(where / "study.toml"), where / "runs")
    gone = sweep.cells[3].folder
    stamps = {cell.folder: (cell.folder / "manifest.json").stat().st_mtime_ns for cell in sweep.cells}
    before = (study / "summary.csv").read_text()
    (gone / "flows.parquet").unlink()
    done = anabranch("sweep", str(where / "study.toml"), "--runs", str(where / "runs"), "--quiet")
    assert done.returncode == 0, done.stderr
    changed = {
        cell.folder for cell in sweep.cells if (cell.folder / "manifest.json").stat().st_mtime_ns != stamps[cell.folder]
    }
    assert changed == {gone}
    assert (study / "summary.csv").read_text() == before


def test_shards_are_all_of_it_and_the_last_one_summarises(where: Path, tmp_path: Path) -> None:
    whole = (where / "runs" / "both" / "summary.csv").read_bytes()
    for part, left in ((2, 5), (1, 2), (3, 0)):
        done = anabranch("sweep", str(where / "study.toml"), "--runs", str(tmp_path), "--shard", f"{part}/3")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "both" / "summary.csv").exists() == (left == 0)
        if left:
            assert f"{left} cells are left for other shards" in done.stdout
    assert (tmp_path / "both" / "summary.csv").read_bytes() == whole


def test_the_job_array_of_the_docs_is_all_of_it(where: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text()
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", page, re.DOTALL)
    (tasks,) = re.findall(r"^#SBATCH --array=1-(\d+)$", script, re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for task in range(1, int(tasks) + 1):
        slurm = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": tasks}
        environment = os.environ | slurm | {"PATH": path, "RUNS": str(tmp_path)}
        subprocess.run(["bash", "-eu", "-c", script], cwd=where, env=environment, check=True)
        assert (tmp_path / "both" / "summary.csv").exists() == (task == int(tasks))
    assert (tmp_path / "both" / "summary.csv").read_bytes() == (where / "runs" / "both" / "summary.csv").read_bytes()


MIXED = """\
name = "mixed"
scenario = "small.toml"
seeds = 2

[axes]
fabric.kind = ["leaf-spine", "fat-tree"]
routing.balance = ["ecmp", "conga"]
"""


def write_mixed(where: Path) -> Path:
    """A study half of whose fat-trees cannot be simulated: CONGA is for two tiers."""
    path = write_small_study(where, MIXED)
    small = where / "small.toml"
    text = small.read_text().replace('kind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n', "")
    small.write_text(text[: text.index("[record]")])
    return path


def test_an_impossible_cell_is_refused_before_any_runs(tmp_path: Path) -> None:
    wanted = ("--runs", str(tmp_path / "runs"), "--refuse-impossible")
    done = anabranch("sweep", str(write_mixed(tmp_path)), *wanted)
    assert (done.returncode, done.stdout) == (2, "")
    assert "study.toml: at fabric.kind fat-tree, routing.balance conga, seed 1: " in done.stderr
    assert "(and 1 more cells); hint: --skip-impossible leaves such cells out" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_what_runs_warn_of_is_said_before_cells_run(tmp_path: Path) -> None:
    axes = '[axes]\nrouting.balance = ["ecmp", "spray"]\n'
    path = write_small_study(tmp_path, f"{STUDY.partition('[axes]')[0]}{axes}")
    down = '[[change]]\nat = "1 ms"\nswitch = ["spine0", "spine1"]\nset = "down"\n'
    (tmp_path / "small.toml").write_text(SMALL + down)
    done = anabranch("sweep", str(path), "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    warned = [line for line in done.stdout.splitlines() if "no path joins" in line]
    # Once, though seeds draw other numbers of flows.
    assert len(warned) == 1
    assert warned[0].startswith("warning: at routing.balance ecmp, seed 1: ")
    assert warned[0].endswith(
        "after the last change, at 1 ms: what is not received by then never is (and 3 more cells)"
    )


@pytest.mark.parametrize("shards", [1, 3])
def test_impossible_cells_are_left_out_by_name(tmp_path: Path, shards: int) -> None:
    path = write_mixed(tmp_path)
    for part in range(1, shards + 1):
        done = anabranch("sweep", str(path), "--runs", str(tmp_path / "runs"), "--shard", f"{part}/{shards}")
        assert done.returncode == 0, done.stderr
    for seed in (1, 2):
        assert f"left out: at fabric.kind fat-tree, routing.balance conga, seed {seed}: " in done.stdout
    study = ab.sweep(path, runs=tmp_path / "runs", progress=False)
    assert len(study.cells) == 6
    points = study.summary.select("fabric.kind", "routing.balance").unique(maintain_order=True).rows()
    assert points == [("leaf-spine", "ecmp"), ("leaf-spine", "conga"), ("fat-tree", "ecmp")]
    left_out = json.loads((study.folder / "study.json").read_text())["left_out"]
    assert [(one["point"]["routing.balance"], one["seed"]) for one in left_out] == [("conga", 1), ("conga", 2)]
    done = anabranch("report", str(study.folder), "--out", str(tmp_path / "report.html"))
    assert done.returncode == 0, done.stderr


def test_a_killed_sweep_loses_only_what_was_running(tmp_path: Path) -> None:
    study = write_small_study(tmp_path, STUDY.replace("seeds = 2", "seeds = 6"))
    command = [sys.executable, "-m", "anabranch", "sweep", str(study), "--runs", str(tmp_path / "runs")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = tmp_path / "runs" / "both"

    def whole() -> set[Path]:
        return {path for path in folder.glob("small-*") if read_manifest(path) is not None}

    deadline = time.monotonic() + DEADLINE_S
    while len(whole()) < 3:
        assert running.poll() is None, "the sweep ended before it could be killed"
        assert time.monotonic() < deadline, "the sweep does not finish three cells"
        time.sleep(0.005)
    running.kill()
    running.wait()
    kept = whole()
    assert kept == set(folder.glob("small-*"))
    stamps = {path: (path / "manifest.json").stat().st_mtime_ns for path in kept}
    done = anabranch("sweep", str(study), "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert f"24 cells, {len(kept)} complete, {24 - len(kept)} to run" in done.stdout
    assert len(whole()) == 24
    assert all((path / "manifest.json").stat().st_mtime_ns == stamp for path, stamp in stamps.items())


def test_nothing_is_lost_when_a_dask_worker_is_killed(where: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install distributed")
    study = write_small_study(tmp_path, STUDY.replace("seeds = 2", "seeds = 3"))
    sweep: Sweep = resolve(load_study(study), tmp_path / "runs")
    check_writable(sweep.folder)
    jobs = sweep.missing
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        calls = []

        def watch(done: int, _: object) -> None:
            calls.append(done)
            if done == 2:
                os.kill(victim, signal.SIGKILL)

        run_on_cluster(cluster.scheduler_address, jobs, ["anabranch"], watch, pytest.fail)
    assert calls == list(range(1, len(jobs) + 1))
    assert sweep.missing == []
    for cell in sweep.cells:
        here = where / "runs" / "both" / cell.folder.name / "flows.parquet"
        if here.exists():
            assert here.read_bytes() == (cell.folder / "flows.parquet").read_bytes()


def test_a_scheduler_that_does_not_answer_is_named(where: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: pip install distributed")
    done = anabranch("sweep", str(where / "study.toml"), "--runs", str(tmp_path), "--dask", "127.0.0.1:1")
    assert done.returncode == 2
    assert "dask: 127.0.0.1:1: no scheduler answers" in done.stderr


@pytest.mark.parametrize(
    ("study", "named"),
    [
        (STUDY.replace('"spray"', '"sprey"'), "at traffic.load 0.3, routing.balance sprey, seed 1: "),
        (STUDY.replace("traffic.load", "trafic.load"), "trafic"),
        (STUDY.replace("small.toml", "large.toml"), "large.toml: No such file or directory"),
    ],
)
def test_a_wrong_cell_is_found_before_any_runs(tmp_path: Path, study: str, named: str) -> None:
    done = anabranch("sweep", str(write_small_study(tmp_path, study)), "--runs", str(tmp_path / "runs"))
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_cell_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    study = write_small_study(tmp_path, STUDY)
    small = tmp_path / "small.toml"
    small.write_text(small.read_text().replace("windows = 0", "windows = 1000000"))
    done = anabranch("sweep", str(study), "--runs", str(tmp_path / "runs"), "--quiet")
    assert done.returncode == 2
    # All cells are as wrong, and as many as there are cores begin at once: whichever fails first is named.
    assert re.search(r"at traffic\.load 0\.\d, routing\.balance (ecmp|spray), seed \d: ", done.stderr)
    assert "flow 1000000" in done.stderr


def test_points_that_come_to_the_same_scenario_share_a_run(tmp_path: Path) -> None:
    text = STUDY.replace(
        'routing.balance = ["ecmp", "spray"]', '[axes.way]\nplain = {}\nsaid = { routing.balance = "ecmp" }'
    )
    sweep = resolve(load_study(write_small_study(tmp_path, text)), tmp_path)
    assert (len(sweep.cells), len(sweep.jobs)) == (8, 4)
    assert SMALL.count("ecmp") == 0
