"""Lab and simulator in one figure: distributions of completion times by size class."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from anabranch.files.atomic_file import write_whole
from anabranch.lab.run.beside import Pairs
from anabranch.report.plot import distribution
from anabranch.report.plot.series import Series
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import ALL_FLOWS, SizeClass


def save(pairs: Pairs, classes: Sequence[SizeClass], file: Path) -> None:
    """Draws it, all seeds together; the file's ending says the format."""
    series = [Series("lab", _flows(pairs.lab, pairs.scale)), Series("simulator", _flows(pairs.simulated, 1.0))]
    within = [one for one in classes if one is not ALL_FLOWS]
    drawn = io.BytesIO()
    distribution.draw(series, within, "fct_ns").savefig(drawn, format=file.suffix[1:], dpi=150)
    write_whole(file, drawn.getvalue())


def _flows(runs: Sequence[Run], scale: float) -> pl.DataFrame:
    flows = pl.concat([run.measured_flows.select("size_bytes", "fct_ns", "finished") for run in runs])
    return flows.with_columns(pl.col("fct_ns") * scale)
