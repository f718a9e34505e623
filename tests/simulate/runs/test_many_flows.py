"""Runs of many flows: their records wait in a file, their table is written and read in pieces."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anabranch as ab
from anabranch._core import Progress
from anabranch.simulate.runs import frames, results
from anabranch.simulate.runs.class_table import class_rows
from anabranch.simulate.runs.execute import execute
from anabranch.simulate.runs.load import load
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.write import write
from anabranch.simulate.stats.jobs import completion_ns
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.starts import last_start_ns

# Short flows, jobs, and a link that fails: flows over it never end, because routing learns of it too late.
SCENARIO = {
    "name": "many-flows",
    "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "traffic": [
        {"sizes": "20 KB", "load": 0.5, "flows": 800},
        {"kind": "incast", "servers": 3, "response": "10 KB", "jobs_per_s": 20000, "duration": "4 ms"},
    ],
    "change": [{"at": "1 ms", "link": "leaf0-spine0", "set": "down"}],
    "routing": {"delay": "30 ms"},
    "stop": {"at": "20 ms"},
}


def written(folder: Path, held_max: int, piece_rows: int, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Results of a run whose records, beyond some flows, are held in a file, and whose table is made in pieces."""
    monkeypatch.setattr(frames.flow_frame, "__defaults__", (piece_rows,))
    scenario = load(SCENARIO)
    write(scenario, execute(scenario, Progress(), {"flows_held_max": held_max}), folder, ["test"], csv=True)
    return Run(folder)


def test_pieces_make_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written(tmp_path / "whole", 10**6, 10**6, monkeypatch)
    assert 0 < whole.manifest["flows_unfinished"] < whole.manifest["flows_total"] == whole.flows.height > 900
    assert whole.manifest["lost_packets"] > 0
    for held_max, piece_rows in ((0, 10**6), (10**6, 7), (0, 7), (0, 400), (0, whole.flows.height)):
        pieces = written(tmp_path / f"{held_max}-{piece_rows}", held_max, piece_rows, monkeypatch)
        assert_frame_equal(pieces.flows, whole.flows)
        assert pieces.flows.schema == whole.flows.schema
        assert (pieces.folder / "flows.csv").read_bytes() == (whole.folder / "flows.csv").read_bytes()
        same = ("flows_total", "flows_unfinished", "packet_hops", "files", "warnings", "offered_load")
        assert all(pieces.manifest[key] == whole.manifest[key] for key in same)


def test_flows_that_are_many_are_summed_as_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = {**SCENARIO, "measure": {"from": "1 ms", "to": "3 ms"}}
    for number, scenario in enumerate((SCENARIO, window)):
        few = ab.run(scenario, runs=tmp_path, progress=False)
        assert isinstance(few.scanned_flows, pl.DataFrame)
        with monkeypatch.context() as patch:
            patch.setattr(results, "FLOWS_READ_MAX", 0)
            many = Run(few.folder)
            assert isinstance(many.scanned_flows, pl.LazyFrame)
            assert class_rows(many.scanned_flows) == class_rows(few.flows)
            assert many.sums == few.sums
            assert many.advice() == few.advice()
            assert last_start_ns(many.scanned_flows) == few.flows["start_ns"].max()
            (times, unfinished), (listed, left) = completion_ns(many.scanned_flows), completion_ns(few.flows)
            assert times.tolist() == listed.tolist()
            assert unfinished == left
            assert len(listed) > 10
            assert_frame_equal(collected(many.scanned_flows), few.flows)
            assert "flows" not in vars(many), f"{number}: the whole table was read"


def test_a_missing_folder_for_records_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    with pytest.raises(ab.AnabranchError, match=r"gone: cannot hold the records of flows.*TMPDIR"):
        load(SCENARIO).run(flows_held_max=0)
