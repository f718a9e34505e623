"""UEC beside uet-htsim: completion times of the small recorded runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

FILE = Path(__file__).parents[3] / "bench" / "uec" / "rows.py"


def _rows() -> Any:
    spec = importlib.util.spec_from_file_location("uec_rows", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


rows = _rows()
SMALL = [name for name, row in rows.ROWS.items() if row.matrix != "permutation_1024"]


@pytest.mark.parametrize("name", SMALL)
def test_completion_times_are_in_the_range_of_theirs(name: str) -> None:
    theirs = rows.recorded().filter(pl.col("run") == name)
    ours = pl.DataFrame([rows.run(rows.ROWS[name], seed).statistics() for seed in (1, 2, 3)])
    for column in rows.STATISTICS:
        agree = rows.agrees(name, theirs[column], ours[column])
        assert agree == ((name, column) not in rows.APART), (column, theirs[column], ours[column])


@pytest.mark.parametrize(
    ("name", "fct_us"), [("single", 176.19952), ("rcv_single", 177.36766), ("both_single", 177.36766)]
)
def test_a_flow_alone_takes_what_it_takes_there(name: str, fct_us: float) -> None:
    assert rows.run(rows.ROWS[name], 1).fct_us.to_list() == [fct_us]
    assert set(rows.recorded().filter(pl.col("run") == name)["fct_max_us"]) == {fct_us}


def test_all_recorded_rows_are_run() -> None:
    assert set(rows.ROWS) == set(rows.recorded()["run"])
