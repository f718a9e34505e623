"""Workload graphs from the scenario to the tables, the summary and the verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import _core
from anabranch.files.errors import AnabranchError
from support.command import anabranch

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "goal"
FABRIC: dict[str, Any] = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
REDUCE: dict[str, Any] = {
    "kind": "graph",
    "size": "400 KB",
    "hosts": "0-3",
    "compute": "10 us",
    "iterations": 3,
}
EXPERTS: dict[str, Any] = {
    "kind": "graph",
    "collective": "moe",
    "skew": 0.5,
    "size": "400 KB",
    "hosts": [4, "5-7"],
    "placement": "random",
    "iterations": 2,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ab.Run:
    """Two jobs side by side."""
    scenario = {"name": "jobs", "fabric": FABRIC, "traffic": [REDUCE, EXPERTS]}
    return ab.run(scenario, runs=tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("rendezvous", ["clear-to-send", "request-to-send"])
def test_critical_paths_come_to_their_beginning_under_rendezvous(rendezvous: str, tmp_path: Path) -> None:
    """Who allows a message waits for the start of a receive that the message itself will end."""
    scenario = {"name": "meet", "fabric": FABRIC, "traffic": [{**REDUCE, "rendezvous": rendezvous}]}
    met = ab.run(scenario, runs=tmp_path)
    path = met.critical
    assert (path["start_ns"].diff().drop_nulls() >= 0).all()
    assert (path["end_ns"] >= path["start_ns"]).all()
    assert path["kind"].cast(pl.String)[0] == "compute"
    # 3 steps of 4 exchanges, each a message and what allowed it; computing before each step.
    assert 3 * 5 <= path.height <= 3 * (1 + 3 * 6)


def test_steps_add_up(run: ab.Run) -> None:
    steps = run.steps.with_columns(pl.col("kind").cast(pl.String))
    kinds = steps.group_by("job", "kind").len().sort("job", "kind")
    assert kinds.rows() == [
        (0, "all-reduce", 3),
        (0, "compute", 3),
        (0, "job", 1),
        (0, "step", 3),
        (1, "all-to-all", 4),
        (1, "compute", 1),
        (1, "job", 1),
        (1, "step", 2),
    ]
    assert steps["time_ns"].null_count() == 0
    # Flows are what the collective sends: 2 (n - 1) parts of each rank, three times.
    mine = run.flows.filter(pl.col("src") < 4)
    assert mine.height == 3 * 4 * 6
    assert set(mine["size_bytes"]) == {100_000}
    reduce = steps.filter((pl.col("job") == 0) & (pl.col("kind") == "all-reduce"))
    assert (reduce["bus_bps"] / reduce["algorithm_bps"] - 1.5).abs().max() < 1e-9
    assert ((reduce["size_bytes"] * 8e9 / reduce["time_ns"]) / reduce["algorithm_bps"] - 1).abs().max() < 1e-9
    assert min(steps["slowdown"].drop_nulls().to_list()) >= 1 - 1e-9
    # A step ends with the last flow of it.
    ends = mine.group_by("job").agg((pl.col("start_ns") + pl.col("fct_ns")).max().alias("end")).sort("job")["end"]
    each = steps.filter((pl.col("job") == 0) & (pl.col("kind") == "step")).sort("step")["end_ns"]
    assert ends.to_list() == pytest.approx(each.to_list(), abs=1e-3)


def test_the_critical_path_has_no_gap_and_the_job_s_length(run: ab.Run) -> None:
    for job in (0, 1):
        path = run.critical.filter(pl.col("job") == job)
        whole = run.steps.filter((pl.col("job") == job) & pl.col("step").is_null()).row(0, named=True)
        assert path["start_ns"][0] == pytest.approx(whole["start_ns"])
        assert path["end_ns"][-1] == pytest.approx(whole["end_ns"])
        gaps = path["start_ns"][1:] - path["end_ns"][:-1]
        assert gaps.abs().max() == pytest.approx(0, abs=1e-3)
        assert whole["path_network_ns"] + whole["path_compute_ns"] == pytest.approx(whole["time_ns"])
        longest = path.drop_nulls("flow").with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("t"))
        assert whole["slowest_ns"] == pytest.approx(longest["t"].max())
        flow = run.flows.row(whole["slowest_flow"], named=True)
        assert flow["fct_ns"] == pytest.approx(whole["slowest_ns"])


def test_columns_are_those_of_the_schema(run: ab.Run) -> None:
    for table in ("steps", "critical"):
        assert getattr(run, table).columns == [name for name, _, _ in _core.columns()[table]]


def test_hosts_and_placement_are_kept(run: ab.Run) -> None:
    first = run.flows.filter(pl.col("src") < 4)
    assert set(first["dst"]) == {0, 1, 2, 3}
    spread = {**REDUCE, "hosts": "0-7", "ranks": 4, "placement": "spread", "iterations": 1}
    flows = ab.run({"fabric": FABRIC, "traffic": [spread]}, runs=run.folder.parent).flows
    pairs = set(zip(flows["src"], flows["dst"], strict=True))
    assert pairs == {(0, 4), (4, 1), (1, 5), (5, 0)}


def test_a_file_is_a_workload(tmp_path: Path) -> None:
    (tmp_path / "w.goal").write_text((VECTORS / "ring_allreduce_8.goal").read_text())
    scenario = tmp_path / "w.toml"
    scenario.write_text(
        '[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[traffic]]\nkind = "graph"\nfile = "w.goal"\n'
    )
    run = ab.run(scenario, runs=tmp_path)
    assert run.flows["finished"].all()
    assert run.scenario["traffic"][0]["digest"]
    (tmp_path / "w.goal").write_text("num_ranks 2\nrank 0 {\nrecv 9b from 1 tag 0\n}\n")
    with pytest.raises(
        AnabranchError, match=r"w\.toml:7: traffic\.0\.file: w\.goal:3: rank 0 waits for a message .*nobody sends"
    ):
        ab.run(scenario, runs=tmp_path)
    (tmp_path / "w.goal").write_text("num_ranks 9\nrank 0 {\ncalc 5\n}\n")
    with pytest.raises(AnabranchError, match="9 ranks on 8 hosts"):
        ab.run(scenario, runs=tmp_path)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"hosts": "0-8"}, "host 8"),
        ({"hosts": "3-1"}, "`3-1` runs backwards"),
        ({"hosts": "0-1", "ranks": 3}, "3 ranks on 2 hosts"),
        ({"algorithm": "pairwise"}, "take one of ring, halving-doubling, double-tree, hierarchical"),
        ({"algorithm": "hierarchical", "group": 3}, "that divides 4"),
        ({"size": "3 B"}, "one for each part"),
        ({"file": "w.txt", "collective": "broadcast"}, "collective"),
    ],
)
def test_settings_that_do_not_fit_are_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(AnabranchError, match=said):
        ab.run({"fabric": FABRIC, "traffic": [{**REDUCE, **keys}]})


def test_the_summary_names_what_held_a_step(run: ab.Run, tmp_path: Path) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text((run.folder / "scenario.toml").read_text())
    shown = anabranch("run", str(file), "--runs", str(tmp_path))
    assert shown.returncode == 0, shown.stderr
    assert "bus" in shown.stdout
    assert "slowest" in shown.stdout


def test_a_critical_path_ends_where_a_message_answers_the_start_of_its_receive(tmp_path: Path) -> None:
    """Rank 0 asks when its receive starts, and it ends by the answer: the path must not go round in circles."""
    (tmp_path / "ask.goal").write_text(
        "num_ranks 2\n"
        "rank 0 {\nl1: recv 1000b from 1 tag 0\nl2: send 2000b to 1 tag 1\nl2 irequires l1\n}\n"
        "rank 1 {\nl1: recv 2000b from 0 tag 1\nl2: send 1000b to 0 tag 0\nl2 requires l1\n}\n"
    )
    file = tmp_path / "ask.toml"
    file.write_text(
        'name = "ask"\n[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n'
        '[[traffic]]\nkind = "graph"\nfile = "ask.goal"\nhosts = "3-4"\n'
    )
    path = ab.run(file, runs=tmp_path).critical
    assert path["kind"].cast(pl.String).to_list() == ["message", "message"]
    assert path["rank"].to_list() == [0, 1]
    assert path["start_ns"][1] == path["end_ns"][0]


def test_a_critical_path_ends_where_a_message_to_oneself_takes_no_time(tmp_path: Path) -> None:
    """The receive ends at the very time at which its start let the message go."""
    (tmp_path / "self.goal").write_text(
        "num_ranks 2\n"
        "rank 0 {\nl1: recv 1000b from 0 tag 0\nl2: send 1000b to 0 tag 0\nl2 irequires l1\n"
        "l3: calc 100\nl3 requires l1\n}\n"
        "rank 1 {\nl1: calc 5\n}\n"
    )
    file = tmp_path / "self.toml"
    file.write_text(
        'name = "self"\n[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n'
        '[[traffic]]\nkind = "graph"\nfile = "self.goal"\nhosts = "3-4"\n'
    )
    path = ab.run(file, runs=tmp_path).critical
    assert path["kind"].cast(pl.String).to_list() == ["message", "compute"]


def test_graph_prints_the_ends_that_loggopsim_prints() -> None:
    rows = (VECTORS / "end_times.csv").read_text().splitlines()
    row = next(row for row in rows if row.startswith("any_source_4.goal,loggopsim,2500,1500,1000,6,0,65535"))
    file = VECTORS / "any_source_4.goal"
    shown = anabranch("graph", str(file), "--loggops", "2500,1500,1000,6,0,65535", "--json", "-")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["end_ns"] == [int(end) for end in row.split(",")[-1].split(";")]
    table = anabranch("graph", str(file), "--loggops", "2500,1500,1000,6,0,65535").stdout
    assert "33,798" in table


def test_graph_refuses_what_is_no_graph(tmp_path: Path) -> None:
    file = tmp_path / "cut.bin"
    file.write_bytes((VECTORS / "irequires_2.bin").read_bytes()[:100])
    for arguments, said in (
        ([str(file)], "cut.bin: byte"),
        ([str(tmp_path / "no.goal")], "give a file that can be read"),
        ([str(tmp_path / "no.csv")], "ends in one of .goal, .bin, .et, .xml, .cm, .tm, .txt"),
        ([str(VECTORS / "irequires_2.goal"), "--loggops", "1,2"], "six whole numbers"),
    ):
        refused = anabranch("graph", *arguments)
        assert refused.returncode == 2
        assert said in " ".join(refused.stderr.split()), refused.stderr
