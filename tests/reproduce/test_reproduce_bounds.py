"""Bounds that no network can pass, on a run as it is and on the same run with one number made impossible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from anabranch.reproduce.backends.simulator.bounds import passed
from anabranch.simulate.runs.results import Run
from anabranch.split.stats.confidence import half_width, jackknife_half_width
from support.command import anabranch
from support.small_scenario import write_small


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    where = tmp_path_factory.mktemp("bounds")
    done = anabranch("run", str(write_small(where)), "--runs", "out", cwd=where)
    assert done.returncode == 0, done.stderr
    (manifest,) = Path(where / "out").rglob("manifest.json")
    return Run(manifest.parent)


def altered(run: Run, **frames: Any) -> Run:
    parts = {name: getattr(run, name) for name in ("flows", "ports", "topology", "manifest", "name")}
    return cast(Run, SimpleNamespace(**{**parts, **frames}))


def test_a_run_keeps_all_bounds(run: Run) -> None:
    assert run.flows["finished"].any()
    assert passed(run) == ""


def hasten(flows: pl.DataFrame) -> pl.DataFrame:
    """One flow ends in a thousandth of its time."""
    first = flows.filter(pl.col("finished"))["flow"][0]
    return flows.with_columns(
        fct_ns=pl.when(pl.col("flow") == first).then(pl.col("fct_ns") / 1000).otherwise(pl.col("fct_ns"))
    )


@pytest.mark.parametrize(
    ("alter", "named"),
    [
        (hasten, "its hosts' links alone need"),
        (lambda flows: flows.with_columns(delivered_packets=pl.col("delivered_packets") + 1), "packets sent"),
        (lambda flows: flows.with_columns(sent_packets=pl.col("sent_packets") + 1000), "packets sent"),
        (lambda flows: flows.with_columns(delivered_bytes=pl.col("size_bytes") - 1), "without all of their bytes"),
    ],
)
def test_an_impossible_flow_is_found(run: Run, alter: Callable[[pl.DataFrame], pl.DataFrame], named: str) -> None:
    assert named in passed(altered(run, flows=alter(run.flows)))


def test_a_port_beyond_its_rate_is_found(run: Run) -> None:
    rates = [rate / 1000 for rate in run.topology["ports"]["rate_bps"]]
    slow = {**run.topology, "ports": {**run.topology["ports"], "rate_bps": rates}}
    # Flows are too fast for such links as well, which is found first.
    assert "hosts' links alone" in passed(altered(run, topology=slow))
    ports = run.ports.with_columns(sent_bytes=pl.col("sent_bytes") * 1000 + 10**9)
    assert "has time for" in passed(altered(run, ports=ports))


def test_a_jackknife_of_means_is_students_interval() -> None:
    values = np.random.default_rng(2).exponential(size=9)
    without = (values.sum() - values) / 8
    assert jackknife_half_width(without) == pytest.approx(half_width(values))
    assert jackknife_half_width(without[:1]) is None
