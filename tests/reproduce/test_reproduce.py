"""`anabranch reproduce` on networks, end to end on a small study, and the studies of the repository."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch._core import Progress
from anabranch.files.units import coarse_duration
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.simulator.simulate import SCHEME_MISSING, collect
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.measure import CellMeasure
from anabranch.reproduce.selection import groups, papers, select
from anabranch.simulate.study import local
from anabranch.simulate.study.forecast import forecast
from anabranch.simulate.study.job import Job, run_here
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.command import anabranch
from support.tiny_study import write_study

ROOT = Path(__file__).parents[2]


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a study of its own."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_figure_group_is_run_judged_and_written(where: Path) -> None:
    done = anabranch("reproduce", "paper/fig1", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert re.search(
        "paper/fig1: 20 cells, 0 complete, 20 to run: about . s, 10 of schemes that there are not", done.stdout
    )
    assert re.search(r"^9\.1 +within bounds +agrees +spraying +1 to 90 % +-?\d", done.stdout, re.MULTILINE)
    assert re.search(r"^9\.2 +no oracle +not run .*\n +no `unheard-of` here *$", done.stdout, re.MULTILINE)
    assert re.search(r"^9\.3 +holds +agrees ", done.stdout, re.MULTILINE)
    assert "paper  3 claims: 2 agrees, 1 not run" in done.stdout
    assert "ours against theory: 1 holds, 1 within bounds, 1 no oracle" in done.stdout
    assert "main claims: 1 of 1 agree" in done.stdout
    folder = where / "out" / "paper-fig1"
    with (folder / "verdicts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["kind"], row["seeds"]) for row in rows] == [
        ("9.1", "agrees", "5"),
        ("9.2", "not run", "0"),
        ("9.3", "agrees", "5"),
    ]
    assert all(cell for row in rows for cell in row.values())
    with (folder / "measured.csv").open(newline="") as file:
        numbers = list(csv.DictReader(file))
    assert {row["quantity"] for row in numbers} == {"mean FCT, ms", "share of bytes, %", "reordered, %"}
    # Two figures that were asked for, and the claims in percent.
    assert len(list((folder / "figures").glob("*.png"))) == 3
    report = (folder / "report.html").read_text()
    assert report.count("<figure>") == report.count("<svg") == 3
    assert not re.search(r'(?:src|href)="(?!#|data:)', report)


def test_the_document_has_the_verdicts(where: Path) -> None:
    done = anabranch("reproduce", "paper", "--quick", "--output", "out", "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == [
        "command",
        "made_by",
        "groups",
        "verdicts",
        "checks",
        "contradictions",
        "claims",
        "mutations",
    ]
    results = str(Path("out") / "paper-quick")
    (group,) = found["groups"]
    small = "2 seeds, one load"
    assert group == {"group": "paper/fig1", "results": results, "quick": small, "record": "", "usable": True}
    written = json.loads((where / results / "verdicts.json").read_text())
    assert found["claims"] == written
    assert sum(found["verdicts"].values()) == sum(found["checks"].values()) == len(written) == 3


def test_a_second_run_runs_nothing_and_a_lost_cell_again(where: Path) -> None:
    first = anabranch("reproduce", "paper", "--output", "out")
    cells = [path for path in (where / "out" / "cells" / "tiny-net").iterdir() if path.is_dir()]
    assert len(cells) == 20
    (cells[0] / "flows.parquet").unlink()
    again = anabranch("reproduce", "paper", "--output", "out")
    assert "20 cells, 19 complete, 1 to run" in again.stdout
    table = re.compile(r"^9\.\d .*$", re.MULTILINE)
    assert table.findall(first.stdout) == table.findall(again.stdout) != []


def test_quick_is_declared_and_kept_apart(where: Path) -> None:
    done = anabranch("reproduce", "paper", "--quick", "--output", "out")
    assert "4 cells, 0 complete, 4 to run" in done.stdout
    assert "paper/fig1  --quick: 2 seeds, one load" in done.stdout
    assert (where / "out" / "cells" / "tiny-net-quick").is_dir()
    assert (where / "out" / "paper-quick" / "report.html").is_file()


def test_a_cell_that_fails_does_not_stop_the_others(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(job: Job, progress: Progress, command: Sequence[str], threads: int) -> None:
        if "scheme spray" in job.words:
            raise AnabranchError(f"at {job.words}: no luck")
        run_here(job, progress, command, threads)

    monkeypatch.setattr(local, "run_here", fails)
    done = anabranch("reproduce", "paper", "--quick", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert "not run: at scheme spray, traffic.load 0.3, seed 1: no luck" in done.stdout
    assert re.search(r"^9\.1 .* not run", done.stdout, re.MULTILINE)
    cells = [path for path in (where / "out" / "cells" / "tiny-net-quick").iterdir() if path.is_dir()]
    assert len(cells) == 2


def test_names_select_papers_groups_and_studies() -> None:
    assert {group.label for group in select(["valo/splitting"])} == {"valo/splitting"}
    assert select(["valo-splitting"]) == select(["valo/splitting"])
    assert {group.paper for group in select(["luopan"])} == {"luopan"}
    assert {group.paper for group in select([], everything=True)} == set(papers())
    labels = [group.label for group in groups()]
    assert labels.index("luopan/fig9") < labels.index("luopan/fig10")
    with pytest.raises(AnabranchError, match="did you mean luopan"):
        select(["luopam"])


def test_labs_run_by_their_own_name_only() -> None:
    assert {group.backend for group in select(["valo", "dbb", "wino"])} == {"simulator", "splitter", "meter", "cycle"}
    assert [group.label for group in select(["lab-dbb", "wino/lab"])] == ["dbb/lab", "wino/lab"]


@pytest.mark.parametrize(
    "group", [group for group in groups() if group.backend == "simulator"], ids=lambda group: group.label
)
def test_studies_of_the_repository_are_sound(group: Group, tmp_path: Path) -> None:
    """Every cell resolves but for schemes that there are not; every claim names axes and values that there are."""
    for quick in (False, True):
        study, expected = load_study(group.folder / "study.toml", quick), load_expected(group.folder, quick)
        study.seeds[1:] = []
        sweep = resolve(study, tmp_path, lambda message: SCHEME_MISSING.search(message) is not None)
        evidence = CellEvidence(collect(sweep, load_study(group.folder / "study.toml"), [], {}, quiet=True))
        assert expected.claims
        for claim in expected.claims:
            if isinstance(claim.measure, CellMeasure):
                assert (evidence.ranking if claim.measure.order else evidence.estimates)(claim.measure)
        assert study.quick_note or not quick
    assert (group.folder / "README.md").is_file() or group.paper not in papers()


def test_the_forecast_counts_frames_times_ports(where: Path) -> None:
    study = load_study(where / "studies" / "paper" / "fig1" / "study.toml", quick=True)
    sweep = resolve(study, where / "out", lambda message: bool(message))
    found = forecast(sweep.missing, [])
    assert found.packet_hops > 0
    assert not found.measured
    assert (coarse_duration(0.2), coarse_duration(80), coarse_duration(600), coarse_duration(9000)) == (
        "1 s",
        "80 s",
        "10 min",
        "2.5 h",
    )
