"""`anabranch run` from end to end, on the simulator itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from support.command import anabranch
from support.small_scenario import LONG, write_small

DOCS = Path(__file__).parents[3] / "docs" / "results.md"


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a scenario and its run."""
    folder = tmp_path_factory.mktemp("run")
    done = anabranch("run", str(write_small(folder)), "--runs", str(folder / "runs"), "--csv")
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def run(where: Path) -> ab.Run:
    """The run in the only folder of runs."""
    (folder,) = (where / "runs").iterdir()
    return ab.Run(folder)


def test_a_run_leaves_what_its_manifest_lists(run: ab.Run) -> None:
    found = {path.name for path in run.folder.iterdir()}
    assert found == {*run.manifest["files"], "manifest.json"}
    assert {"flows.parquet", "flows.csv", "ports.parquet", "queues.parquet", "windows.parquet"} < found
    assert any(name.endswith(".pcapng") for name in found)
    for name, rows in run.manifest["files"].items():
        if name.endswith(".parquet"):
            assert pl.read_parquet(run.folder / name).height == rows
    for key in ("version", "model_version", "seed", "command", "packet_hops", "wall_s", "cpu_s", "peak_rss_bytes"):
        assert run.manifest[key] is not None, key


def test_columns_are_those_of_the_schema_and_of_its_page(run: ab.Run) -> None:
    page = DOCS.read_text()
    for table, columns in _core.columns().items():
        # Tables of workload graphs: tests/simulate/runs/test_work.py.
        if f"{table}.parquet" in run.manifest["files"]:
            frame: pl.DataFrame = getattr(run, table)
            assert frame.columns == [name for name, _, _ in columns]
        for name, _, meaning in columns:
            assert f"`{name}`" in page, f"docs/results.md does not tell of {table}.{name}"
            assert meaning


def test_events_are_what_ports_and_flows_count(tmp_path: Path) -> None:
    scenario = {
        "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 3, "link": {"buffer": "12 KB", "ecn": "6 packets"}},
        "change": [{"link": "leaf0-spine0", "at": "1 ms", "set": "down"}],
        "traffic": [{"sizes": "20 KB", "load": 0.9, "duration": "3 ms"}],
        "routing": {"balance": "letflow", "delay": "300 us"},
        "transport": {"kind": "dctcp"},
        "record": {"events": 1_000_000},
    }
    run = ab.run(scenario, runs=tmp_path, progress=False)
    events = run.events
    assert events["time_ns"].is_sorted()
    of_ports = run.ports.group_by("port").agg(pl.col("^.*_packets$").sum())
    segments = events.filter(pl.col("packet") == "data")
    for event, counted in (("drop", "dropped_packets"), ("loss", "lost_packets"), ("mark", "marked_packets")):
        rows = events.filter(pl.col("event") == event)
        assert rows.height == run.manifest[counted] > 0
        by_port = dict(rows.drop_nulls("port").group_by("port").len().iter_rows())
        assert by_port == {port: n for port, n in of_ports.select("port", counted).iter_rows() if n}
        of_flows = segments.filter(pl.col("event") == event)
        by_flow = dict(of_flows.group_by("flow").len().iter_rows())
        for flow, n in run.flows.select("flow", counted).iter_rows():
            # A mark counts where it arrives, an event where it is set.
            assert by_flow.get(flow, 0) >= n if event == "mark" else by_flow.get(flow, 0) == n
    paths = dict(segments.drop_nulls("path").group_by("flow").agg(pl.col("path").n_unique()).iter_rows())
    assert paths == {flow: n for flow, n in run.flows.select("flow", "paths").iter_rows() if n}
    # The same first events of each kind under a smaller limit, and nothing else changes.
    few = ab.run(scenario, {"record.events": 7}, runs=tmp_path, progress=False)
    firsts = events.with_row_index().filter(pl.col("index").rank("ordinal").over("event") <= 7).drop("index")
    assert few.events.equals(firsts)
    assert few.flows.equals(run.flows)
    assert few.ports.equals(run.ports)


def test_csv_holds_what_parquet_holds(run: ab.Run) -> None:
    read = pl.read_csv(run.folder / "flows.csv", schema_overrides=run.flows.schema)
    assert read.equals(run.flows)


def test_the_sums_agree(run: ab.Run) -> None:
    manifest, flows = run.manifest, run.flows
    assert run.ports["sent_packets"].sum() == manifest["packet_hops"]
    for what in ("dropped_packets", "marked_packets"):
        assert run.ports[what].sum() == manifest[what]
    assert flows.height == manifest["flows_total"] > 0
    assert flows.filter(~pl.col("finished")).height == manifest["flows_unfinished"]
    finished = flows.filter(pl.col("finished"))
    assert finished["fct_ns"].null_count() == 0
    ratio = finished["fct_ns"].to_numpy() / finished["ideal_fct_ns"].to_numpy()
    assert finished["slowdown"].to_numpy() == pytest.approx(ratio, rel=1e-9)
    assert ratio.min() >= 1


def test_the_resolved_scenario_is_the_same_scenario(run: ab.Run) -> None:
    path = run.folder / "scenario.toml"
    assert _core.Scenario(path.read_text(), str(path)).identity == run.manifest["identity"]


def test_tables_are_printed(where: Path) -> None:
    text = (where / "stdout").read_text()
    for word in ("size class", "up to 100 KB", "leaf to spine", "slowdown", "packet-hops in", "unfinished"):
        assert word in text
    assert text.index("offered") < text.index("size class")


def test_deep_queues_of_hosts_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(
        '[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n[[traffic]]\nkind = "flow-list"\nfile = "flows.csv"\n'
    )
    (tmp_path / "flows.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,2,30000000,0\n1,0,3,30000000,0\n")
    begins = "warning: hosts, not switches, hold the deepest queues: "
    for nic, warns in (("fifo", True), ("fair", False)):
        done = anabranch("run", str(path), "-o", f"host.nic={nic}", "--runs", str(tmp_path / "runs"))
        assert done.returncode == 0, done.stderr
        assert (begins in done.stdout) == warns, done.stdout
        (folder,) = (tmp_path / "runs").iterdir()
        manifest = ab.Run(folder).manifest
        assert any(begins.removeprefix("warning: ") in text for text in manifest["warnings"]) == warns
        shutil.rmtree(folder)


def test_what_is_there_is_not_run_again(where: Path, run: ab.Run) -> None:
    written = (run.folder / "manifest.json").stat().st_mtime_ns
    flows = (run.folder / "flows.parquet").read_bytes()
    done = anabranch("run", str(where / "small.toml"), "--runs", str(where / "runs"), "--quiet")
    assert "complete, not run again" in done.stdout
    assert (run.folder / "manifest.json").stat().st_mtime_ns == written
    done = anabranch("run", str(where / "small.toml"), "--runs", str(where / "runs"), "--quiet", "--again", "--csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert (run.folder / "manifest.json").stat().st_mtime_ns > written
    assert (run.folder / "flows.parquet").read_bytes() == flows
    assert len(list((where / "runs").iterdir())) == 1


def test_a_folder_that_is_not_whole_is_run_again(where: Path, tmp_path: Path) -> None:
    first = ab.run(where / "small.toml", {"seed": 5}, runs=tmp_path)
    (first.folder / "ports.parquet").unlink()
    with pytest.raises(AnabranchError, match="no complete run"):
        ab.Run(first.folder)
    again = ab.run(where / "small.toml", {"seed": 5}, runs=tmp_path)
    assert again.folder == first.folder
    assert again.ports.height > 0


def test_overrides_make_another_run(where: Path, run: ab.Run, tmp_path: Path) -> None:
    other = ab.run(where / "small.toml", {"traffic.load": 0.2, "routing.balance": "spray"}, runs=tmp_path)
    assert other.manifest["identity"] != run.manifest["identity"]
    assert other.scenario["routing"]["granularity"] == "packet"
    same = ab.run(where / "small.toml", [("traffic.load", "0.2"), ("routing.balance", "spray")], runs=tmp_path)
    assert same.folder == other.folder


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("lacks.toml",), "lacks.toml: No such file or directory; give a TOML file"),
        (("small.toml", "-o", "sead=5"), "sead"),
        (("small.toml", "-o", "seed"), "-o seed: not key=value; give the key"),
        (("small.toml", "--runs", "small.toml/x"), "small.toml/x: cannot write results into it"),
        (("small.toml", "--classes", "10 MB,1 KB"), "classes: 10 MB,1 KB: bounds do not ascend"),
    ],
)
def test_bad_input_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: str
) -> None:
    write_small(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = anabranch("run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("runs/*"))


def test_ctrl_c_leaves_nothing_by_half(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    running = subprocess.Popen(
        [sys.executable, "-m", "anabranch", "run", "long.toml", "-o", "traffic.load=0.01"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    # The load is printed when the run is about to begin.
    while not re.search("offered", running.stdout.readline()):
        assert running.poll() is None
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_notebook_shows_the_table(run: ab.Run) -> None:
    shown = run._repr_html_()
    assert shown.count("<tr>") == 5
    assert str(run.folder) in shown
    assert json.loads((run.folder / "topology.json").read_text()) == run.topology


def test_show_draws_and_prints(where: Path, tmp_path: Path) -> None:
    out = tmp_path / "fabric.svg"
    done = anabranch("show", str(where / "small.toml"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert re.search(r"4 hosts, 2 leaves, 2 spines", done.stdout)
    assert "2 shortest paths of 2 links between 2 ordered pairs of leaves" in done.stdout
    assert out.read_text().startswith("<?xml")
    settings = anabranch("show", str(where / "small.toml"), "--settings").stdout
    assert (
        _core.Scenario(settings, "small.toml").identity
        == _core.Scenario((where / "small.toml").read_text(), "small.toml").identity
    )
    for name, named in (("fabric.gif", "no format of a fabric"), ("lacks/fabric.svg", "there is no directory")):
        done = anabranch("show", str(where / "small.toml"), "--out", str(tmp_path / name))
        assert done.returncode == 2
        assert named in done.stderr


def test_results_from_before_links_had_costs_are_read(tmp_path: Path) -> None:
    run = ab.run({"traffic": [{"sizes": "20 KB", "load": 0.1, "duration": "1 ms"}]}, runs=tmp_path, progress=False)
    file = run.folder / "topology.json"
    topology = json.loads(file.read_text())
    del topology["ports"]["cost"]
    file.write_text(json.dumps(topology))
    opened = ab.open(run.folder)
    assert isinstance(opened, ab.Run)
    assert set(opened.topology["ports"]["cost"]) == {1}
