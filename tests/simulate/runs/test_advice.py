"""Advice on runs that are too short, and on studies whose seeds disagree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import anabranch as ab
from anabranch.simulate.runs.advice import trend

FABRIC = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}


def run(tmp_path: Path, traffic: dict[str, Any], **tables: Any) -> ab.Run:
    scenario = {"fabric": FABRIC, "traffic": [traffic], "record": {"interval": "50 us"}, **tables}
    return ab.run(scenario, runs=tmp_path)


def test_a_long_steady_run_gets_none(tmp_path: Path) -> None:
    # Small flows only, with the first ones, which meet an empty fabric, left out.
    found = run(tmp_path, {"sizes": "20 KB", "load": 0.5, "duration": "4 ms"}, measure={"from": "500 us"}, seed=2)
    assert found.measured_flows.height > 300
    assert found.advice() == []


def test_few_flows_are_named_by_class(tmp_path: Path) -> None:
    found = run(tmp_path, {"sizes": "20 KB", "load": 0.5, "duration": "300 us"})
    (few, *_) = found.advice()
    assert few.startswith(f"few flows finished in some classes (all: {found.flows.height}, up to 100 KB: ")
    assert "hint: traffic.duration" in few


def test_messages_of_a_job_are_as_many_as_it_has(tmp_path: Path) -> None:
    job = {"kind": "graph", "collective": "all-reduce", "size": "1 MB", "hosts": ["0-3"]}
    found = run(tmp_path, job)
    assert 0 < found.flows.height < 100
    assert not any("few flows" in one for one in found.advice())


def test_a_load_that_is_not_reached_is_said(tmp_path: Path) -> None:
    # Flows that take longer than all arrivals: most of their bytes leave after the last began.
    found = run(tmp_path, {"sizes": "4 MB", "load": 0.9, "duration": "4 ms"})
    (said,) = [one for one in found.advice() if "load was not reached" in one]
    loads = {row["tier"]: row["load"] for row in found.manifest["offered_load"]}
    assert any(f"{tier} carried" in said and f"{load:.2f} were offered" in said for tier, load in loads.items())
    assert "hint: a longer traffic.duration" in said


def test_queues_that_grow_are_said_and_steady_ones_are_not(tmp_path: Path) -> None:
    # Seven hosts to one: its link is offered more than it carries, and its queue grows.
    pairs = [[source, 0] for source in range(1, 8)]
    growing = run(
        tmp_path,
        {"sizes": "30 KB", "load": 0.3, "duration": "2 ms", "pattern": {"pairs": pairs}},
        transport={"kind": "newreno"},
    )
    grown = (
        growing.ports.filter(growing.ports["from"] >= 8).group_by("start_ns").agg(pl.col("backlog_mean_bytes").sum())
    )
    assert grown.height > 10
    assert any("queues of switches still grew" in one for one in growing.advice())


def test_seeds_that_disagree_more_than_the_effect_are_said(tmp_path: Path) -> None:
    study = ab.Study(
        scenario={"fabric": FABRIC, "traffic": [{"sizes": "20 KB", "load": 0.5, "duration": "500 us"}]},
        axes={"routing.balance": ["ecmp", "weighted"]},
        seeds=2,
    )
    two = ab.sweep(study, runs=tmp_path / "two", progress=False)
    (said,) = two.advice()
    assert "two seeds disagree more than the effect in 1 of 1 comparisons" in said
    assert "routing.balance weighted against ecmp" in said
    study["seeds"] = 1
    assert ab.sweep(study, runs=tmp_path / "one", progress=False).advice()[0].startswith("one seed: no interval")
    study["axes"] = {"routing.balance": ["ecmp", "spray"]}
    study["seeds"] = [1, 2]
    real = ab.sweep(study, runs=tmp_path / "real", progress=False)
    ratios = real.table.pivot("routing.balance", index=["seed", "size_class"], values="slowdown_mean")
    logs = np.log((ratios["spray"] / ratios["ecmp"]).to_numpy()[ratios["size_class"] == "all"])
    assert bool(real.advice()) == bool(np.ptp(logs) > abs(logs.mean()))


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=20, unique=True))
def test_the_trend_of_values_is_their_kendall_tau_with_time(values: list[float]) -> None:
    assert trend(np.array(values)) == pytest.approx(kendalltau(np.arange(len(values)), values).statistic)
