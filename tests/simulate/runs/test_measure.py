"""The window of measurement: what counts is what a filter by hand leaves, and the simulation is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.reproduce.backends.simulator.measured import measured, unfinished
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.simulate.runs.class_table import class_rows
from anabranch.simulate.stats.fct import by_class, by_size
from anabranch.simulate.stats.jobs import completion_ns
from anabranch.simulate.stats.size_classes import ALL_FLOWS
from anabranch.simulate.stats.tier_load import achieved
from anabranch.simulate.stats.window import Window, clipped

FROM_NS, TO_NS = 1_234_567.0, 2_500_000.0
SCENARIO: dict[str, Any] = {
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "traffic": [{"sizes": {"least": "2 KB", "most": "300 KB"}, "load": 0.7, "duration": "4 ms"}],
    "record": {"interval": "500 us"},
}
WINDOW = {"measure": {"from": "1234567 ns", "to": "2500 us"}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[ab.Run, ab.Run]:
    """A run without a window and one with it."""
    folder = tmp_path_factory.mktemp("runs")
    return ab.run(SCENARIO, runs=folder), ab.run({**SCENARIO, **WINDOW}, runs=folder)


def inside(flows: pl.DataFrame) -> pl.DataFrame:
    """The filter by hand, of a run without a window."""
    return flows.filter((pl.col("start_ns") >= FROM_NS) & (pl.col("start_ns") < TO_NS))


def test_the_simulation_is_the_same_and_says_which_flows_count(runs: tuple[ab.Run, ab.Run]) -> None:
    whole, part = runs
    assert part.flows.drop("measured").equals(whole.flows.drop("measured"))
    assert whole.flows["measured"].all()
    assert 0 < part.flows["measured"].sum() < part.flows.height
    assert part.measured_flows["flow"].to_list() == inside(whole.flows)["flow"].to_list()
    assert part.manifest["measure"] == {"from_ns": FROM_NS, "to_ns": TO_NS}
    assert whole.manifest["measure"] == {"from_ns": 0.0, "to_ns": None}


def test_tables_are_of_the_flows_that_count(runs: tuple[ab.Run, ab.Run]) -> None:
    whole, part = runs
    chosen = inside(whole.flows)
    assert by_class(part.flows).equals(by_class(chosen))
    assert not by_class(part.flows).equals(by_class(whole.flows))
    assert class_rows(part.flows) == class_rows(chosen)
    for ours, theirs in zip(by_size(part.flows, [0.5]), by_size(chosen, [0.5]), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert part.sums["flows"] == chosen.height
    assert part.sums["dropped_packets"] == chosen["dropped_packets"].sum()
    assert part.sums["marked_packets"] == chosen["marked_packets"].sum()


def test_intervals_of_ports_end_where_the_window_does(runs: tuple[ab.Run, ab.Run]) -> None:
    whole, part = runs
    ends = part.ports["start_ns"] + part.ports["length_ns"]
    for at in (FROM_NS, TO_NS):
        assert not ((part.ports["start_ns"] < at) & (ends > at)).any()
    cuts = [Window(0, FROM_NS), Window(FROM_NS, TO_NS), Window(TO_NS)]
    parts = [clipped(part.ports, cut) for cut in cuts]
    for column in ("sent_bytes", "dropped_packets", "marked_packets"):
        assert sum(int(one[column].sum()) for one in parts) == whole.ports[column].sum()
    assert part.measured_ports.equals(parts[1])
    assert part.measured_ports.filter(pl.col("port") == 0)["length_ns"].sum() == pytest.approx(TO_NS - FROM_NS)
    busy = [(one["utilization"] * one["length_ns"]).sum() for one in parts]
    assert sum(busy) == pytest.approx((whole.ports["utilization"] * whole.ports["length_ns"]).sum())
    in_window = {row.direction: row.mean_pct for row in achieved(part.topology, part.measured_ports)}
    rate = 10e9
    up = [port for port, source in enumerate(part.topology["ports"]["from"]) if source < part.topology["hosts"]]
    sent = part.measured_ports.filter(pl.col("port").is_in(up))
    sent_bytes = int(sent["sent_bytes"].sum()) + 20 * int(sent["sent_packets"].sum())
    frames = 8e9 * sent_bytes / (TO_NS - FROM_NS) / len(up) / rate
    assert in_window["host to leaf"] == pytest.approx(100 * frames, rel=0.01)


def test_silence_is_cut_by_time() -> None:
    silent = pl.DataFrame(
        {"port": [0], "start_ns": [0.0], "length_ns": [100.0], "sent_bytes": [0], "utilization": [0.0]}
    )
    cut = clipped(silent, Window(30.0, 80.0))
    assert cut.select("start_ns", "length_ns", "sent_bytes").row(0) == (30.0, 50.0, 0)
    assert clipped(silent, Window(100.0)).height == 0


def test_a_reproduction_measures_what_counts(runs: tuple[ab.Run, ab.Run]) -> None:
    whole, part = runs
    chosen = inside(whole.flows)
    slowdown = Quantity("slowdown", ALL_FLOWS, "mean")
    finished = chosen.filter(pl.col("finished"))
    assert measured(slowdown, part) == pytest.approx(finished["slowdown"].mean())
    assert measured(slowdown, part) != pytest.approx(measured(slowdown, whole))
    assert unfinished(slowdown, part.flows) == (chosen.height - finished.height, chosen.height)
    marked = Quantity("marked", ALL_FLOWS, "mean")
    expected = 100 * int(chosen["marked_packets"].sum()) / int(chosen["sent_packets"].sum())
    assert measured(marked, part) == pytest.approx(expected)


def test_a_job_counts_if_its_first_flow_does() -> None:
    flows = pl.DataFrame(
        {
            "job": [0, 0, 1, 1, None],
            "start_ns": [0.0, 5.0, 5.0, 9.0, 1.0],
            "fct_ns": [1.0, 1.0, 1.0, 2.0, 1.0],
            "finished": [True] * 5,
            "measured": [False, True, True, False, True],
        }
    )
    times, left = completion_ns(flows)
    assert (times.tolist(), left) == ([6.0], 0)
    times, left = completion_ns(flows.drop("measured"))
    assert times.tolist() == [6.0, 6.0]


def test_a_study_and_its_tables_are_of_the_window(tmp_path: Path, runs: tuple[ab.Run, ab.Run]) -> None:
    whole, _ = runs
    found = ab.sweep({"scenario": {**SCENARIO, **WINDOW}, "seeds": 1}, runs=tmp_path, progress=False)
    expected = by_class(inside(whole.flows))
    assert found.table["flows"].to_list() == expected["flows"].to_list()
    assert found.table["slowdown_mean"].to_list() == expected["slowdown_mean"].to_list()
    assert found.table["marked_packets"][0] == inside(whole.flows)["marked_packets"].sum()
