"""Messages that repeat are replayed, and the run says how far off that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli import app
from anabranch.files.units import pct
from anabranch.report.tables.sweep_table import show
from anabranch.simulate.stats.replay import sentence, worst

SCENARIO: dict[str, Any] = {
    "name": "replay",
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8, "link": {"rate": "100 Gbps"}},
    "transport": {"kind": "uec"},
    "traffic": {"kind": "graph", "collective": "all-reduce", "algorithm": "ring", "size": "2 MB", "iterations": 8},
    "replay": {"sample": 0.1},
}


def test_a_job_takes_about_what_it_takes_packet_by_packet(tmp_path: Path) -> None:
    without = {key: table for key, table in SCENARIO.items() if key != "replay"}
    full, run = (ab.run(scenario, runs=tmp_path, progress=False) for scenario in (without, SCENARIO))
    replay = run.manifest["replay"]
    assert full.manifest["replay"] is None
    assert replay["replayed"] + replay["carried"] == len(run.flows)
    assert run.flows["replayed"].sum() == replay["replayed"] > 3 * replay["carried"]
    assert abs(replay["mean_error"]) < 0.03
    assert run.manifest["end_ns"] == pytest.approx(full.manifest["end_ns"], rel=0.01)
    assert run.manifest["packet_hops"] == pytest.approx(full.manifest["packet_hops"], rel=0.05)


def test_the_command_states_the_error(tmp_path: Path) -> None:
    file = tmp_path / "ring.toml"
    file.write_text(ab.Scenario(SCENARIO).to_toml())
    printed = CliRunner().invoke(app, ["run", str(file), "--runs", str(tmp_path / "runs")])
    assert printed.exit_code == 0, printed.output
    assert "messages took what others like them had taken" in printed.output
    assert "% in the 99th percentile" in printed.output


def test_a_run_in_which_nothing_repeats_says_so(tmp_path: Path) -> None:
    once = {"traffic.iterations": 1, "traffic.algorithm": "halving-doubling"}
    run = ab.run(SCENARIO, once, runs=tmp_path, progress=False)
    assert any(warning.startswith("replay: none of") for warning in run.manifest["warnings"])


def test_without_a_message_to_compare_the_sentence_says_that() -> None:
    alone: dict[str, Any] = {
        "replayed": 5,
        "carried": 3,
        "compared": 0,
        "mean_error": None,
        "mean_errors": [],
        "p99_error": None,
    }
    assert "nothing says how far off that is" in str(sentence(alone))
    assert sentence(None) is None


def test_more_simulation_than_asked_for_is_a_reason_for_doubt() -> None:
    known: dict[str, Any] = {"compared": 9, "mean_error": 0.001, "mean_errors": [0.001], "p99_error": 0.002}
    calm = {**known, "sample": 0.05, "replayed": 90, "carried": 10}
    assert "compare with" not in str(sentence(calm))
    assert "compare with" in str(sentence({**calm, "p99_error": -0.03}))
    disturbed = str(sentence({**calm, "replayed": 80, "carried": 20}))
    assert "20.0 % were simulated, 5.00 % asked for: beside replay these messages take other times" in disturbed


def test_a_sweep_states_the_largest_errors_of_its_cells(tmp_path: Path) -> None:
    study = {"name": "rings", "scenario": SCENARIO, "seeds": 1, "axes": {"traffic.iterations": [8, 10]}}
    outcome = ab.sweep(study, runs=tmp_path, progress=False)
    stated = {cell.point["traffic.iterations"]: ab.Run(cell.folder).manifest["replay"] for cell in outcome.cells}
    console = Console(record=True, width=1000)
    show(outcome, console)
    (line,) = (line for line in console.export_text().splitlines() if line.startswith("warning: replay: "))
    assert line.startswith("warning: replay: in 2 of 2 cells messages were replayed; furthest off are ")
    for error, words in (("mean_error", "in the mean"), ("p99_error", "in the 99th percentile")):
        (cell, largest) = max(stated.items(), key=lambda item: abs(item[1][error]))
        signed = f"{'+' if largest[error] >= 0 else '-'}{pct(abs(100 * largest[error]))} %"
        assert f"{signed} (traffic.iterations {cell}, seed 1) {words}" in line


def test_errors_of_cells_are_compared_without_their_signs() -> None:
    calm: dict[str, Any] = {"sample": 0.05, "replayed": 95, "carried": 5, "compared": 9, "p99_error": 0.001}
    early, late = {**calm, "mean_error": -0.002}, {**calm, "mean_error": 0.001, "p99_error": 0.03}
    none = {**calm, "replayed": 0, "carried": 100}
    unknown = {**calm, "compared": 0, "mean_error": None, "p99_error": None}
    assert worst({"a": None}) is None
    assert worst({"a": none}) == "replay: in 0 of 1 cells messages were replayed"
    assert "nothing says how far off" in str(worst({"a": unknown}))
    assert worst({"a": early, "b": late, "c": none, "d": unknown, "e": None}) == (
        "replay: in 3 of 4 cells messages were replayed; furthest off are -0.200 % (a) in the mean and +3.00 % (b) in "
        "the 99th percentile; of 1 nothing says how far off they are; compare 1 with runs without it, b for one"
    )


def test_impossible_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ab.AnabranchError, match=r"replay\.sample"):
        ab.run(SCENARIO, {"replay.sample": 0}, runs=tmp_path)
