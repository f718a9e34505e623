"""RoCE beside conweave-ns3: small cases of flows, and the bytes of all uplinks under its hash."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

FOLDER = Path(__file__).parents[3] / "bench" / "conweave"


def _cells() -> Any:
    spec = importlib.util.spec_from_file_location("conweave_cells", FOLDER / "cells.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


cells = _cells()
CASES = cells.cases()


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_what_they_saw_may_be_one_more_run_of_ours(case: tuple[str, str, str]) -> None:
    beside = cells.beside(case, CASES[case])
    assert beside.fits, beside


def test_their_bound_of_lossless_queues_is_what_sets_the_incast_of_100_apart() -> None:
    case = ("incast100", "ecmp", "go-back-n")
    unbounded = cells.beside(case, CASES[case], {"fabric.switch.shared.lossless_alpha": 1e6})
    assert not unbounded.fits, unbounded
    assert unbounded.ours_ns < 0.9 * unbounded.theirs_ns


def test_all_uplinks_carry_the_bytes_that_they_carried_there() -> None:
    flows = cells.list_of_flows()
    ports = cells.run("selective", cells.TheirHash(flows), flows, 1).ports
    names = pl.col("from_name", "to_name").cast(pl.String)
    up = ports.with_columns(names).filter(
        pl.col("from_name").str.starts_with("leaf"), pl.col("to_name").str.starts_with("spine")
    )
    found = up.select(
        leaf=pl.col("from_name").str.strip_prefix("leaf").cast(pl.Int64),
        spine=pl.col("to_name").str.strip_prefix("spine").cast(pl.Int64),
        bytes=pl.col("sent_bytes").cast(pl.Int64),
    ).sort("leaf", "spine")
    recorded = pl.read_csv(FOLDER.parents[1] / "vectors" / "conweave" / "uplinks.csv")
    assert recorded.height == 64
    assert found.equals(recorded)
