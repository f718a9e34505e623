"""Reports on more flows than are read at once: the same figures, data and tables, from columns read one at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

from anabranch.report.page.explore.cells import cells_of
from anabranch.report.page.explore.curves import curves
from anabranch.report.page.explore.flow_sizes import flow_sizes
from anabranch.report.page.explore.slowest_flows import slowest_flows
from anabranch.report.page.figures import draw
from anabranch.report.page.material import Material, gather
from anabranch.report.page.runs import page
from anabranch.simulate.runs import results
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats import lazily
from anabranch.simulate.stats.size_classes import size_classes
from support.synthetic import write_run
from support.synthetic_results import FABRIC, write_study

CLASSES = size_classes()


def drawn_lines(material: Material) -> dict[str, list[list[float]]]:
    """Points of every line of every figure that shows flows."""
    lines: dict[str, list[list[float]]] = {}
    for drawn in draw(material, CLASSES):
        axes: list[Axes] = drawn.figure.axes
        lines[drawn.name] = [np.ravel(line.get_xydata()).tolist() for one in axes for line in one.lines]
    return lines


@pytest.mark.parametrize("of", ["runs of several seeds", "study"])
def test_a_report_is_the_same_from_columns_read_one_at_a_time(
    of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = (
        [write_study(tmp_path / "study")]
        if of == "study"
        else [write_run(tmp_path / f"{n}-{seed}", FABRIC, seed, n) for n in (1.0, 2.0) for seed in (1, 2)]
    )
    few = gather(folders)
    assert all(isinstance(one.flows, pl.DataFrame) for group in few.groups for one in group.series)
    cells = cells_of(few)
    lines, values, sizes = drawn_lines(few), curves(cells, CLASSES), flow_sizes(cells)
    slowest = [slowest_flows(run) for run in few.runs]
    text = page(few, CLASSES, [], ["test"])
    monkeypatch.setattr(results, "FLOWS_READ_MAX", 0)
    # Columns are read in several slices, the last of which is not full.
    monkeypatch.setattr(lazily, "READ_ROWS", 300)
    many = gather(folders)
    assert all(isinstance(one.flows, pl.LazyFrame) for group in many.groups for one in group.series)
    cells = cells_of(many)
    assert drawn_lines(many) == lines
    assert (curves(cells, CLASSES), flow_sizes(cells)) == (values, sizes)
    assert [slowest_flows(run) for run in many.runs] == slowest
    assert page(many, CLASSES, [], ["test"]) == text
    assert not any("flows" in vars(run) for group in many.groups for run in (*many.runs, *group.runs))


def test_equally_slow_flows_are_listed_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(write_run(tmp_path / "run", FABRIC, 1))
    flows = run.flows.with_columns(slowdown=pl.when(pl.col("flow") % 100 == 7).then(9.0).otherwise(2.0))
    flows = flows.with_columns(finished=pl.col("flow") != 107)
    flows.write_parquet(run.folder / "flows.parquet")
    for most in (results.FLOWS_READ_MAX, 0):
        monkeypatch.setattr(results, "FLOWS_READ_MAX", most)
        found = slowest_flows(Run(run.folder))
        assert found["flow"] == [number for number in range(7, 2000, 100) if number != 107] + [0]
        assert found["slowdown"] == [9.0] * 19 + [2.0]
