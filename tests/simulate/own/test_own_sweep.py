"""Schemes of one's own on an axis of a study: beside those of the house, kept, named, and refused."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch.simulate.runs.folder import read_manifest
from anabranch.simulate.study.job import run_away
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.command import anabranch

ROOT = Path(__file__).resolve().parents[3]

STUDY = """\
name = "own"
seeds = 2

[scenario]
name = "small"

[scenario.fabric]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 8
link = { ecn = "5 packets" }

[[scenario.traffic]]
sizes = "web-search"
load = 0.9
duration = "5 ms"

[scenario.transport]
kind = "dctcp"

[axes]
routing.balance = BALANCE
"""

FIRST = """\
import anabranch as ab
from margins import MARGIN


class First(ab.Scheme):
    def pick(self, packet, view):
        return 0 if view.backlog(0) < MARGIN else 1
"""


def write_study(where: Path, *balance: str) -> Path:
    path = where / "study.toml"
    path.write_text(STUDY.replace("BALANCE", json.dumps(balance)))
    return path


def write_first(where: Path, margin: int = 1_000_000_000) -> None:
    (where / "first.py").write_text(FIRST)
    (where / "margins.py").write_text(f"MARGIN = {margin}\n")


def sweep(study: Path) -> pl.DataFrame:
    return ab.sweep(study, runs=study.parent / "runs", progress=False).table


def folders(study: Path) -> set[str]:
    return {path.name for path in (study.parent / "runs" / "own").iterdir() if path.is_dir()}


def test_a_plb_of_ones_own_stands_beside_that_of_the_house_with_the_same_numbers(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "own" / "small_plb.py", tmp_path)
    study = tmp_path / "study.toml"
    study.write_text(
        STUDY.partition("[axes]")[0]
        + '[axes.balancer]\n"plb, eager".routing = { balance = "plb", scheme = { rounds = 2, idle_rounds = 1 } }\n'
        '"mine, eager".routing.balance = "eager.py:Eager"\n'
        '"mine, by packets".routing = { balance = "first.py:First", granularity = "packet" }\n'
        '"mine, by flows".routing.balance = "first.py:First"\n'
    )
    (tmp_path / "eager.py").write_text(
        "import small_plb\n\n\nclass Eager(small_plb.SmallPlb):\n    rounds, idle_rounds = 2, 1\n"
    )
    write_first(tmp_path, 5_000)
    table = sweep(study).drop("run")
    numbers = {name: part.drop("balancer") for (name,), part in table.partition_by("balancer", as_dict=True).items()}
    assert list(numbers) == ["plb, eager", "mine, eager", "mine, by packets", "mine, by flows"]
    assert numbers["mine, eager"].equals(numbers["plb, eager"])
    assert not numbers["mine, by packets"].equals(numbers["mine, by flows"])
    assert not numbers["mine, by flows"].equals(numbers["mine, eager"])


def test_what_is_there_is_kept_until_the_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = ModuleType("margins")
    monkeypatch.setitem(sys.modules, "margins", others)
    write_first(tmp_path)
    study = write_study(tmp_path, "ecmp", "first.py:First")
    sweep(study)
    before = folders(study)
    assert len(before) == 4
    assert sum(name.startswith("small-First-") for name in before) == 2
    manifests = [json.loads((tmp_path / "runs" / "own" / name / "manifest.json").read_text()) for name in before]
    own = [one["scheme"] for one in manifests if "scheme" in one]
    assert len({one["identity"] for one in manifests}) == 4
    assert [(one["name"], one["source"], one["asked"]) for one in own] == [("First", "first.py:First", "pick")] * 2
    times = {name: (tmp_path / "runs" / "own" / name / "manifest.json").stat().st_mtime_ns for name in before}
    first = sweep(study)
    assert {name: (tmp_path / "runs" / "own" / name / "manifest.json").stat().st_mtime_ns for name in before} == times
    # The session's own modules are neither used nor replaced.
    assert sys.modules["margins"] is others
    assert "first" not in sys.modules
    # A module that the file imports is its source, too.
    write_first(tmp_path, 1)
    second = sweep(study)
    assert len(folders(study)) == 6
    assert before < folders(study)
    column = "slowdown_mean"
    assert first.filter(pl.col("routing.balance") == "ecmp").equals(second.filter(pl.col("routing.balance") == "ecmp"))
    of_first = [part.filter(pl.col("routing.balance") == "First")[column].to_list() for part in (first, second)]
    assert of_first[0] != of_first[1]
    write_first(tmp_path)
    assert sweep(study).equals(first)
    assert len(folders(study)) == 6


def test_the_command_shows_its_name_beside_the_others(tmp_path: Path) -> None:
    write_first(tmp_path)
    study = write_study(tmp_path, "ecmp", "conga", "first.py:First")
    done = anabranch("sweep", str(study), "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    for name in ("ecmp", "conga", "First"):
        assert name in done.stdout


def test_a_cell_runs_on_a_machine_that_has_no_file_of_its_source(tmp_path: Path) -> None:
    write_first(tmp_path, 5_000)
    study = write_study(tmp_path, "first.py:First")
    sweep(study)
    (first, *_) = resolve(load_study(study), tmp_path / "runs").jobs.values()
    travelled = pickle.dumps(first)
    (tmp_path / "first.py").unlink()
    (tmp_path / "margins.py").unlink()
    files = run_away(pickle.loads(travelled), [], {})
    here = first.folder / "flows.parquet"
    assert pl.read_parquet(files["flows.parquet"]).equals(pl.read_parquet(here))
    kept = json.loads((first.folder / "manifest.json").read_text())
    assert json.loads(files["manifest.json"])["scheme"] == kept["scheme"]


FAILS = """\
import anabranch as ab


class Fails(ab.Scheme):
    def acknowledged(self, ack, connection):
        if connection.now_ns > 1_000_000:
            return self.next(connection)

    def next(self, connection):
        return connection.flow / 0


class Wrong(ab.Scheme):
    def acknowledged(self, ack, connection):
        return "a"


class NeedsMore(ab.Scheme):
    def __init__(self, margin):
        self.margin = margin

    def pick(self, packet, view):
        return 0


class Weighs(ab.Scheme):
    epoch = "1 ms"

    def weights(self, group, stats):
        return [1 for _ in stats]


class Nothing(ab.Scheme):
    pass


class NoScheme:
    pass
"""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "fails.py:Fails",
            r"at routing.balance Fails, seed 1: .*fails.py:10: next: ZeroDivisionError: division by zero",
        ),
        ("fails.py:Wrong", "at routing.balance Wrong, seed 1: .*acknowledged: 'a' is no entropy; return an integer"),
        ("fails.py:Weighs", "at routing.balance Weighs, seed 1: .*takes all members alike"),
        ("fails.py:NeedsMore", "missing 1 required positional argument: 'margin'; hint: .*give them defaults"),
        ("fails.py:Failing", "fails.py:Failing: there is no class Failing; did you mean Fails"),
        ("fails.py:Nothing", "Nothing overrides no method; override weights or pick"),
        ("fails.py:NoScheme", "NoScheme is no ab.Scheme; let it inherit ab.Scheme"),
        ("fails.py:", "no name of a class after the colon; give FILE.py:CLASS"),
        ("gone.py:First", "gone.py: No such file or directory; give the file of a class that can be read"),
        ("gone.module:First", "there is no Python module gone; give a file"),
        ("torn.py:Torn", "torn.py:2: "),
        ("raises.py:Raises", "raises.py:1: ValueError: at once"),
        (
            "crate:gone",
            "Cargo.toml: No such file or directory; give the folder of a crate that `anabranch schemes new`",
        ),
        ("plbb", "at routing.balance plbb, seed 1: .*`plbb` is unknown; did you mean `plb`"),
    ],
)
def test_what_cannot_be_used_is_refused_by_file_key_and_value(tmp_path: Path, value: str, message: str) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    (tmp_path / "torn.py").write_text("class Torn:\n    def\n")
    (tmp_path / "raises.py").write_text("raise ValueError('at once')\n")
    study = write_study(tmp_path, "ecmp", value)
    with pytest.raises(AnabranchError, match=message) as refused:
        sweep(study)
    said = str(refused.value)
    assert value in said
    if "Fails," not in message and "Wrong" not in message:
        assert said.startswith(f"{study}: ")
        assert not list(tmp_path.glob("runs/own/*/manifest.json"))
    if "at routing.balance" not in message:
        assert said.startswith(f"{study}: axes.routing.balance: {value}: ")


def test_a_single_run_takes_such_a_value_and_knows_its_results(tmp_path: Path) -> None:
    write_first(tmp_path)
    study = write_study(tmp_path, "first.py:First")
    (cell, _) = resolve(load_study(study), tmp_path).cells
    scenario = tmp_path / "small.toml"
    scenario.write_text(load_study(study).scenario_text)
    wanted = ("run", str(scenario), "--runs", str(cell.folder.parent), "-o", "seed=1")
    done = anabranch(*wanted, "-o", "routing.balance=first.py:First", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_manifest(cell.folder) is not None
    assert "complete, not run" in anabranch(*wanted, "-o", 'routing.balance="first.py:First"', cwd=tmp_path).stdout
    refused = anabranch(*wanted, "-o", "routing.balance=gone.py:First", cwd=tmp_path)
    assert refused.returncode == 2
    assert "-o routing.balance=gone.py:First: " in refused.stderr
    assert "No such file" in refused.stderr


def test_schemes_on_two_axes_are_refused(tmp_path: Path) -> None:
    write_first(tmp_path)
    study = write_study(tmp_path, "first.py:First")
    study.write_text(study.read_text() + 'twice.a.routing.balance = "first.py:First"\n')
    with pytest.raises(AnabranchError, match=r"axes.twice: .*are on axes.routing.balance, too; put them on one axis"):
        sweep(study)
