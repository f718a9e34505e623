"""Studies made in Python, and results of runs and studies opened."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import anabranch as ab
from anabranch import AnabranchError
from anabranch.simulate.study.study import load_study

SCENARIO = {
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"sizes": "20 KB", "load": 0.3, "duration": "300 us"}],
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> ab.StudyOutcome:
    study = ab.Study(
        scenario=ab.Scenario(SCENARIO),
        axes={"traffic.load": np.array([0.3, 0.6]), "routing.balance": ["ecmp", "spray"]},
        seeds=2,
        name="two-loads",
    )
    return ab.sweep(study, runs=tmp_path_factory.mktemp("runs"), progress=False)


def test_a_study_is_the_same_from_a_dict_an_object_and_a_file(tmp_path: Path) -> None:
    more = [{"seeds": 3, "at": {"traffic.load": [0.6]}}]
    keys: dict[str, Any] = {"name": "s", "scenario": SCENARIO, "axes": {"traffic": {"load": [0.3, 0.6]}}, "seeds": 2}
    study = ab.Study(keys, more_seeds=more)
    keys["more_seeds"] = more
    study.to_toml(tmp_path / "s.toml")
    read = ab.Study.from_toml(tmp_path / "s.toml")
    assert read.to_toml() == study.to_toml()
    points = [list(load_study(one).points()) for one in (keys, study, tmp_path / "s.toml", read)]
    assert all(one == points[0] for one in points)
    assert len(points[0]) == 5


def test_results_open_as_what_they_are(outcome: ab.StudyOutcome) -> None:
    opened = ab.open(outcome.folder)
    assert isinstance(opened, ab.StudyOutcome)
    assert opened.summary.equals(outcome.summary)
    run = ab.open(outcome.cells[0].folder)
    assert isinstance(run, ab.Run)
    assert run.flows.height > 0
    with pytest.raises(AnabranchError, match="no complete run and no complete study; give a folder that"):
        ab.open(outcome.folder.parent)


def test_results_show_themselves(outcome: ab.StudyOutcome) -> None:
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(outcome, ab.Run(outcome.cells[0].folder))
    assert "two-loads" in captured.get()
    assert "slowdown" in captured.get()
    assert outcome._repr_html_().count("<tr>") == outcome.summary.height + 1


def test_names_stand_beside_numbers(outcome: ab.StudyOutcome) -> None:
    run = ab.Run(outcome.cells[0].folder)
    names = run.topology["nodes"]["name"]
    for frame, columns in ((run.flows, ("src", "dst")), (run.ports, ("from", "to"))):
        for column in columns:
            assert frame[f"{column}_name"].to_list() == [names[number] for number in frame[column]]


def test_pandas_is_asked_for_by_its_name(outcome: ab.StudyOutcome) -> None:
    if importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow"):
        assert list(outcome.to_pandas().columns) == outcome.summary.columns
        assert outcome.to_pandas("table").shape == outcome.table.shape
    else:
        with pytest.raises(AnabranchError, match="to_pandas: pandas or pyarrow is not installed; pip install"):
            outcome.to_pandas()
    with pytest.raises(AnabranchError, match="to_pandas: flow: unknown; did you mean flows"):
        ab.Run(outcome.cells[0].folder).to_pandas("flow")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"axis": {}}, "study: axis: unknown key; did you mean axes"),
        ({}, "study: scenario: missing; give"),
        ({"scenario": SCENARIO, "axes": {"traffic.load": 0.3}}, "study: axes.traffic.load: no values; give a list"),
        ({"scenario": SCENARIO, "seeds": 0}, "study: seeds: 0: no seeds; give how many"),
        (
            {"scenario": SCENARIO, "axes": {"traffic.lod": [1]}},
            "study: at traffic.lod 1, seed 1: -o traffic.lod=1: traffic.0.lod: unknown key; did you mean `load`?",
        ),
        (
            {"scenario": {**SCENARIO, "fabric": {"leafs": 2}}},
            "study: at seed 1: study.scenario: fabric.leafs: unknown key; did you mean `leaves`?",
        ),
    ],
)
def test_an_error_names_the_key_and_a_hint(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(AnabranchError) as raised:
        ab.sweep(ab.Study(keys), runs=tmp_path, progress=False)
    assert str(raised.value).startswith(message)


def test_show_lists_axes_and_cells(capsys: pytest.CaptureFixture[str]) -> None:
    study = ab.Study(scenario=SCENARIO, axes={"traffic.load": [0.3, 0.6]}, seeds=3)
    study.show()
    printed = capsys.readouterr().out
    assert "traffic.load" in printed
    assert "6" in printed
    assert "<td>0.3, 0.6</td>" in study._repr_html_()
