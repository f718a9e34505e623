"""Steps of workload graphs on the page of a report, compared with the frames of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.files.units import duration
from anabranch.report.page.material import gather
from anabranch.report.page.step_section import step_panels, step_paths, step_section
from support.browser import need_browser, running
from support.command import anabranch

SCENARIO: dict[str, Any] = {
    "name": "jobs",
    "fabric": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4},
    "change": [{"at": "1 ms", "link": "leaf0-spine0", "set": "down"}],
    "traffic": [
        {
            "kind": "graph",
            "size": "400 KB",
            "hosts": "0-7",
            "compute": "50 us",
            "iterations": 4,
        }
    ],
}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[ab.Run]:
    """The same jobs by two load balancers."""
    folder = tmp_path_factory.mktemp("runs")
    return [ab.run(SCENARIO, {"routing.balance": name}, runs=folder) for name in ("ecmp", "spray")]


def test_tables_have_the_numbers_of_the_frames(two: list[ab.Run]) -> None:
    section = step_section(gather([run.folder for run in two]))
    assert section is not None
    assert section.jobs[0][0] == "run"
    labels = [row[0] for row in section.jobs[1]]
    assert [label.partition(",")[0] for label in labels] == ["ecmp", "spray"]
    for run, label in zip(two, labels, strict=True):
        each = run.steps.filter(pl.col("kind").cast(pl.String) == "step").sort("time_ns", descending=True)
        held = [row[1:] for row in section.holders[1] if row[0] == label]
        assert [row[1] for row in held] == [str(step) for step in each["step"]]
        assert [row[2] for row in held] == [duration(time) for time in each["time_ns"]]
        for row, flow, took in zip(held, each["slowest_flow"], each["slowest_ns"], strict=True):
            # What the critical path names is the flow of that time.
            of = run.flows.row(flow, named=True)
            assert of["fct_ns"] == pytest.approx(took)
            assert row[8:11] == [f"{of['src_name']} to {of['dst_name']}", "50.0 KB", duration(took)]
        assert section.phases is not None
        phases = [row for row in section.phases[1] if row[0] == label]
        assert sum(int(row[3]) for row in phases) == 4
        assert phases[0][2] == "before"


def test_the_figure_has_every_step_of_every_run(two: list[ab.Run]) -> None:
    (panel,) = step_panels([(run.scenario["routing"]["balance"], [run]) for run in two])
    assert panel.title == "job 0: compute, all-reduce"
    assert [(one.label, [len(run.time_ns) for run in one.seeds]) for one in panel.series] == [
        ("ecmp", [4]),
        ("spray", [4]),
    ]
    assert [moment.words for moment in panel.moments] == ["leaf0-spine0 down"]
    ideal = [run.steps.filter(pl.col("kind").cast(pl.String) == "step")["ideal_time_ns"].median() for run in two]
    assert panel.ideal_ns == min(ideal)  # type: ignore[type-var]


def test_the_critical_path_of_the_longest_step_is_drawn_part_by_part(two: list[ab.Run]) -> None:
    paths = step_paths([(run.scenario["routing"]["balance"], [run]) for run in two])
    assert len(paths) == 2
    for run, path in zip(two, paths, strict=True):
        steps = run.steps.with_columns(pl.col("kind").cast(pl.String)).filter(pl.col("kind") == "step")
        longest = steps.sort("time_ns", "step", descending=[True, False]).row(0, named=True)
        assert path.title == f"{run.scenario['routing']['balance']}, job 0, step {longest['step']}"
        assert path.parts == ["compute", "all-reduce"]
        # A rank computes, maybe later than the first, and from there on the path has no gap. It is that of the job, and
        # another rank's end of the step may come after it.
        ((begin, computing),), messages = path.spans
        assert begin >= 0.0
        assert computing == pytest.approx(50_000)
        assert messages[0][0] == pytest.approx(begin + 50_000)
        assert begin + 50_000 + sum(length for _, length in messages) == pytest.approx(sum(messages[-1]))
        assert sum(messages[-1]) <= longest["time_ns"]


def test_steps_are_those_of_all_seeds(two: list[ab.Run], tmp_path: Path) -> None:
    """Two seeds of one scheme are one row: the median of their completions, the longest of all their steps."""
    other = ab.run({**SCENARIO, "routing": two[0].scenario["routing"]}, overrides={"seed": 77}, runs=tmp_path)
    section = step_section(gather([two[0].folder, other.folder]))
    assert section is not None
    (row,) = section.jobs[1]
    kinds = [run.steps.with_columns(pl.col("kind").cast(pl.String)) for run in (two[0], other)]
    whole = pl.concat([steps.filter(kind="job")["time_ns"] for steps in kinds])
    times = pl.concat([steps.filter(kind="step")["time_ns"] for steps in kinds])
    assert whole[0] != whole[1], "seeds that do the same show nothing"
    assert row[2] == "8"
    assert (row[3], row[5], row[6]) == (duration(whole.median()), duration(times.median()), duration(times.max()))  # type: ignore[arg-type]
    assert section.phases is not None
    assert sum(int(phase[2]) for phase in section.phases[1]) == 8
    assert section.holders[0][0] == "seed"
    assert sorted(held[0] for held in section.holders[1]) == ["1"] * 4 + ["77"] * 4


def test_a_run_without_graph_has_no_section(tmp_path: Path) -> None:
    run = ab.run({"traffic": [{"kind": "once", "sizes": "10 KB"}]}, runs=tmp_path)
    assert step_section(gather([run.folder])) is None


def test_json_of_a_run_has_the_phases(two: list[ab.Run], tmp_path: Path) -> None:
    scenario = tmp_path / "jobs.toml"
    scenario.write_text((two[0].folder / "scenario.toml").read_text())
    done = anabranch("run", str(scenario), "--json", "-", "--runs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["phases"]
    assert [one["when"] for one in found][:2] == ["before", "leaf0-spine0 down"]
    assert sum(one["steps"] for one in found) == 4


def test_the_page_shows_steps_on_a_screen_and_on_a_phone(two: list[ab.Run], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert anabranch("report", *(str(run.folder) for run in two), "--out", str(page)).returncode == 0
    with running(need_browser(), tmp_path / "profile") as browser:
        for width in (1400, 400):
            opened = browser.open(page, width=width)
            assert opened.complaints == []
            assert opened.evaluate("document.documentElement.scrollWidth") == width
            labels = opened.evaluate("[...document.querySelectorAll('[role=region]')].map(one => one.ariaLabel)")
            assert labels[:4] == ["jobs", "parts of jobs", "cost of changes", "what held each step"]
        # A click on a header sorts.
        rows = "[...document.querySelectorAll(`[aria-label='what held each step'] tbody tr`)]"
        steps = f"{rows}.map(row => row.cells[2].innerText)"
        before = opened.evaluate(steps)
        opened.click("[aria-label='what held each step'] th:nth-child(3) button")
        after = opened.evaluate(steps)
        assert sorted(before) == sorted(after) == ["0", "0", "1", "1", "2", "2", "3", "3"]
        assert after in (sorted(after), sorted(after, reverse=True))


def test_what_a_step_of_training_waits_for_adds_up_to_its_time(tmp_path: Path) -> None:
    scenario = {
        "name": "training",
        "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "traffic": [
            {
                "kind": "graph",
                "accelerator": {"flops": "10 TFLOPS", "memory_bandwidth": "1 TB/s"},
                "training": {
                    "layers": 2,
                    "hidden": 256,
                    "sequence": 128,
                    "micro_batches": 2,
                    "tensor": 2,
                    "pipeline": 2,
                    "data": 2,
                },
            }
        ],
        "transport": {"kind": "roce"},
    }
    run = ab.run(scenario, runs=tmp_path)
    steps = run.steps.with_columns(pl.col("kind").cast(pl.String))
    whole, parts = (steps.filter(pl.col("kind") == "job"), steps.filter(~pl.col("kind").is_in(["job", "step"])))
    assert parts["kind"].to_list() == ["compute", "tensor", "pipeline", "data"]
    on_path = parts["path_network_ns"] + parts["path_compute_ns"]
    assert on_path.sum() == pytest.approx(whole["time_ns"].item())
    section = step_section(gather([run.folder]))
    assert section is not None
    assert section.parts is not None
    assert [row[:2] for row in section.parts[1]] == [["0", kind] for kind in ("compute", "tensor", "pipeline", "data")]
    assert [row[3] for row in section.parts[1]] == [duration(time) for time in on_path if time > 0]
