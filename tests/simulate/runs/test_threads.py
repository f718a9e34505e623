"""One simulation on several threads: the same results, and a word where it takes one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli import app

CORES = len(os.sched_getaffinity(0))
SCENARIO: dict[str, Any] = {
    "name": "threads",
    "fabric": {"leaves": 4, "spines": 4, "hosts_per_leaf": 16, "link": {"rate": "40 Gbps", "delay": "5 us"}},
    "traffic": {"sizes": "web-search", "load": 0.7, "duration": "300 us"},
    "transport": {"kind": "dctcp"},
    "record": {"interval": "100 us", "events": 50, "captures": ["leaf0", "spine1"], "capture_packets": 20},
}

BURST = {"kind": "once", "pattern": "permutation", "sizes": "1 MB"}


def test_any_number_of_threads_has_the_same_results(tmp_path: Path) -> None:
    one = ab.run(SCENARIO, runs=tmp_path / "one", progress=False)
    for threads in (2, 3):
        several = ab.run(SCENARIO, runs=tmp_path / str(threads), progress=False, threads=threads)
        assert several.manifest["threads"] == min(threads, CORES)
        assert several.folder.name == one.folder.name
        assert several.flows.equals(one.flows)
        assert several.ports.equals(one.ports)
        assert several.events.equals(one.events)
        assert _captures(several) == _captures(one)
        same = ("packet_hops", "events", "end_ns", "flows_finished", "marked_packets", "connections_peak")
        assert all(several.manifest[key] == one.manifest[key] for key in same)
    assert (one.manifest["threads"], one.manifest["one_thread"]) == (1, None)
    assert {"leaf0-spine0.pcapng", "spine1-leaf0.pcapng"} <= _captures(one).keys()
    assert set(one.events["event"]) == {"mark", "path"}


def _captures(run: ab.Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.folder.rglob("*.pcapng")}


@pytest.mark.parametrize(
    ("preset", "transport", "balance"),
    [
        ("lossless-roce", {"kind": "roce"}, "ecmp"),
        ("uec-trimming", {"kind": "uec", "control": "nscc+rccc", "queue_pairs": 2}, "reps"),
    ],
)
def test_a_job_has_the_same_results(tmp_path: Path, preset: str, transport: dict[str, Any], balance: str) -> None:
    fabric = SCENARIO["fabric"] | {"preset": preset, "hosts_per_leaf": 8}
    traffic = {"kind": "ring-all-reduce", "workers": list(range(32)), "size": "4 MB"}
    job = {"name": "job", "fabric": fabric, "traffic": traffic, "transport": transport}
    job["routing"] = {"balance": balance}
    one, two = (ab.run(job, runs=tmp_path / str(threads), progress=False, threads=threads) for threads in (1, 2))
    assert two.manifest["threads"] == min(2, CORES)
    assert two.flows.equals(one.flows)
    assert two.ports.equals(one.ports)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"transport.persistent": True}, "connections of TCP that are kept"),
        ({"routing.balance": "omniscient"}, "load balancers that read other parts"),
        ({"fabric.leaves": 1, "traffic.pattern": "all-to-all"}, "a fabric with one leaf"),
        ({"fabric.link.delay": "1 ns"}, "packet-hops for each of two threads"),
        ({"traffic": BURST, "stop.at": "2 us"}, "packet-hops for each port, all of which each thread sets up"),
    ],
)
def test_a_run_that_takes_one_thread_says_why(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    run = ab.run(SCENARIO, changes, runs=tmp_path, progress=False, threads=2)
    assert run.manifest["threads"] == 1
    assert reason in run.manifest["one_thread"]


def test_the_command_prints_how_many_threads_there_were(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(
        'name = "a"\n[fabric]\nleaves = 4\nspines = 4\nhosts_per_leaf = 16\n'
        'link = { rate = "40 Gbps", delay = "5 us" }\n'
        '[[traffic]]\nsizes = "web-search"\nload = 0.7\nduration = "300 us"\n[transport]\nkind = "dctcp"\n'
    )
    runs = ["--runs", str(tmp_path / "runs"), "--threads", "2"]
    several = CliRunner().invoke(app, ["run", str(file), *runs])
    assert several.exit_code == 0
    assert f"threads: {min(2, CORES)}" in several.output
    one = CliRunner().invoke(app, ["run", str(file), "-o", "transport.persistent=true", *runs])
    assert "threads: 1; several do not simulate connections of TCP that are kept" in one.output


def test_no_thread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ab.AnabranchError, match="threads: 0"):
        ab.run(SCENARIO, runs=tmp_path, progress=False, threads=0)
