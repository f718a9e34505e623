"""Requests of inference: packet by packet as by hand, and the same numbers in every place that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.files.units import duration
from anabranch.report.page.material import gather
from anabranch.report.page.step_section import step_section
from anabranch.simulate.stats.moments import moments
from anabranch.simulate.stats.requests import served
from support.command import anabranch

INFERENCE: dict[str, Any] = {
    "prompt": [100, 300],
    "output": [5, 1, 9],
    "layers": 2,
    "hidden": 256,
    "kv_heads": 4,
    "head": 64,
    "cache": "end",
    "prefill": {"groups": 2, "token": "1 us"},
    "decode": {"groups": 2, "slots": 8, "step": "40 us"},
}


def scenario(**keys: Any) -> dict[str, Any]:
    """One rank of each group, two in each rack."""
    return {
        "name": "inference",
        "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        "transport": {"kind": "roce"},
        "traffic": [{"kind": "graph", "inference": {**INFERENCE, **keys}}],
    }


def test_requests_take_the_time_of_their_parts(tmp_path: Path) -> None:
    run = ab.run(scenario(arrivals=["0 s", "0 s", "500 us", "600 us"]), runs=tmp_path)
    rows, flows = run.requests.to_dicts(), run.flows
    assert [row["ttft_ns"] for row in rows] == [100e3, 300e3, 100e3, 300e3]
    # Two layers of keys and values, four heads of 64, two bytes each.
    assert flows["size_bytes"].to_list() == [2 * 2 * 4 * 64 * 2 * tokens for tokens in (100, 100, 300)]
    taken = dict(zip((0, 2, 3), flows.sort("start_ns")["fct_ns"], strict=True))
    for number, row in enumerate(rows):
        if row["output_tokens"] == 1:
            assert (row["cache_ns"], row["tpot_ns"], row["last_token_ns"]) == (None, None, row["first_token_ns"])
            continue
        assert row["cache_ns"] - row["first_token_ns"] == pytest.approx(taken[number])
        after = row["output_tokens"] - 1
        assert row["tpot_ns"] == pytest.approx((taken[number] + 40e3 * after) / after)
    # Nothing contends: only what receiving hosts and flow control take is more than alone.
    assert run.requests["ideal_ttft_ns"].to_list() == run.requests["ttft_ns"].to_list()
    assert (run.requests["tpot_ns"] >= run.requests["ideal_tpot_ns"]).all()


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[ab.Run]:
    """The same requests by two load balancers; a link becomes slow meanwhile."""
    keys = scenario(requests=150, requests_per_s=8000)
    keys["change"] = [{"at": "9 ms", "link": "leaf0-spine0", "rate": "100 Mbps"}]
    folder = tmp_path_factory.mktemp("runs")
    return [ab.run(keys, {"routing.balance": name}, runs=folder) for name in ("ecmp", "spray")]


def test_phases_have_each_request_once_with_its_own_statistics(two: list[ab.Run]) -> None:
    run = two[0]
    phases = served(run.requests, moments(run.topology))
    assert [one.when for one in phases] == ["before", "leaf0-spine0 100 Mbps", "after leaf0-spine0 100 Mbps"]
    assert sum(one.requests for one in phases) == 150
    after = run.requests.filter(pl.col("arrival_ns") >= 9e6)
    assert phases[2].requests == after.height
    assert phases[2].ttft_ns["mean"] == pytest.approx(after["ttft_ns"].mean())
    assert phases[2].tpot_ns["p50"] == pytest.approx(after["tpot_ns"].quantile(0.5, "nearest"), rel=0.2)
    alone = after.drop_nulls("tpot_ns")
    taken, ideal = alone.select(pl.col("tpot_ns", "ideal_tpot_ns").sum()).row(0)
    assert phases[2].tpot_slowdown == pytest.approx(taken / ideal)
    assert phases[2].tpot_slowdown > phases[0].tpot_slowdown  # type: ignore[operator]


def test_arrivals_are_those_of_the_seed(two: list[ab.Run]) -> None:
    first, second = (run.requests for run in two)
    assert first["arrival_ns"].to_list() == second["arrival_ns"].to_list()
    assert first["arrival_ns"].is_sorted()
    # 150 exponential gaps of 125 us on average: five deviations of their mean.
    assert first["arrival_ns"][-1] / 150 == pytest.approx(125e3, rel=5 / 150**0.5)


def test_report_and_json_have_the_same_numbers(two: list[ab.Run], tmp_path: Path) -> None:
    section = step_section(gather([run.folder for run in two]))
    assert section is not None
    assert section.requests is not None
    rows = [row for row in section.requests[1] if row[0].startswith("ecmp")]
    assert rows[0][2] == "before"
    scenario_file = tmp_path / "inference.toml"
    scenario_file.write_text((two[0].folder / "scenario.toml").read_text())
    done = anabranch("run", str(scenario_file), "--json", "-", "--runs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["requests"]) == 150
    for row, one in zip(rows, document["served"], strict=True):
        assert row[3] == str(one["requests"])
        assert row[5] == duration(one["ttft_ns"]["mean"])
        assert row[9] == duration(one["tpot_ns"]["mean"])


def test_studies_measure_requests(tmp_path: Path) -> None:
    asked = scenario(arrivals=["0 s", "0 s"])
    found = ab.compare(["ecmp", "spray"], scenario=asked, seeds=[1], runs=tmp_path, measures=["ttft", "tpot"])
    rows = found.table.filter(size_class="all")
    assert rows["requests"].to_list() == [2, 2]
    assert rows["unfinished_requests"].to_list() == [0, 0]
    assert rows["ttft_ns_mean"].to_list() == [200e3, 200e3]
    assert (rows["tpot_ns_mean"] > 40e3).all()


def test_requests_that_are_not_over_are_counted(tmp_path: Path) -> None:
    keys = scenario(arrivals=["0 s", "0 s", "50 us", "1 ms"])
    keys["stop"] = {"at": "250 us"}
    run = ab.run(keys, runs=tmp_path)
    (one,) = served(run.requests.filter(pl.col("arrival_ns").is_not_null()), [])
    # The last one has not come; of the others the second has not its first token, the third not its last.
    assert (one.requests, one.unfinished) == (3, 3)
    assert run.requests["arrival_ns"].null_count() == 1
    assert run.requests["ttft_ns"].drop_nulls().to_list() == [100e3, 150e3]
