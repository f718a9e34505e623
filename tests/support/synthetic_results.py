"""Folders of runs and studies with known contents, such as `anabranch run` and `anabranch sweep` write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anabranch.simulate.stats.size_classes import size_classes
from anabranch.simulate.study.outcome import STUDY_FILE, Cell
from anabranch.simulate.study.summary import cell_table, compare, summarise
from support.synthetic import leaf_spine, write_run

FABRIC = leaf_spine(4, 4, 8)
STRETCHES = {"ecmp": 1.0, "spray": 0.5, "letflow": 0.8, "conga": 0.7}


def write_two_runs(where: Path) -> list[Path]:
    """Two runs that differ in one setting; the first has traces."""
    at_ns = np.arange(5000) * 1000
    traces = {
        "queues": pl.DataFrame({"port": 64, "time_ns": at_ns, "backlog_bytes": at_ns % 70_000}),
        "windows": pl.DataFrame(
            {"flow": 3, "time_ns": at_ns, "window_bytes": at_ns % 90_000, "rate_bps": at_ns * 1000}
        ),
    }
    return [
        write_run(where / "first", FABRIC, 1, 1.0, traces),
        write_run(where / "second", FABRIC, 1, 2.0),
    ]


def write_study(
    where: Path,
    loads: Sequence[float] = (0.3, 0.6),
    schemes: Sequence[str] = ("ecmp", "spray"),
    seeds: Sequence[int] = (1, 2, 3),
    flow_count: int = 2000,
) -> Path:
    """Schemes at loads, each with all seeds; slowdowns beyond 1 are in proportion to load and `STRETCHES`."""
    where.mkdir(parents=True, exist_ok=True)
    cells = [
        Cell(
            {"load": load, "scheme": scheme},
            seed,
            write_run(where / f"{scheme}-{load}-{seed}", FABRIC, seed, STRETCHES[scheme] * load, flow_count=flow_count),
        )
        for seed in seeds
        for load in loads
        for scheme in schemes
    ]
    table = cell_table(cells, size_classes())
    table.write_parquet(where / "cells.parquet")
    summarise(table, ["load", "scheme"]).write_parquet(where / "summary.parquet")
    axes: dict[str, list[Any]] = {"load": list(loads), "scheme": list(schemes)}
    compare(table, axes).write_parquet(where / "comparison.parquet")
    written = {
        "name": "both",
        "command": ["anabranch", "sweep"],
        "axes": axes,
        "seeds": list(seeds),
        "cells": [{"point": cell.point, "seed": cell.seed, "folder": cell.folder.name} for cell in cells],
    }
    (where / STUDY_FILE).write_text(json.dumps(written))
    return where
