"""What jobs cost each other: exactly nothing where they share no link, and twice the time where they share one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.report.page.material import gather
from anabranch.report.page.step_section import step_section
from support.command import anabranch

FRAMES = 500
FRAME_NS = 1538 * 0.8
"""A full frame with preamble and gap on a link of 10 Gbit/s."""


def job(hosts: list[int], **keys: Any) -> dict[str, Any]:
    return {"kind": "graph", "hosts": hosts, **keys}


def racks(first: list[int], second: list[int]) -> dict[str, Any]:
    """Two rings over four racks, hashed over two spines, with losses, marks and jitter."""
    ring = {"size": "600 KB", "placement": "spread", "compute": "20 us", "iterations": 3}
    return {
        "name": "racks",
        "fabric": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": {"buffer": "30 KB"}},
        "traffic": [job(first, **ring), job(second, **ring)],
    }


def one_link() -> dict[str, Any]:
    """Two jobs that send one message each from left to right, over one link as fast as a host's."""
    message = {"collective": "broadcast", "size": f"{FRAMES * 1448} B"}
    return {
        "name": "one-link",
        "fabric": {"kind": "dumbbell", "link": {"buffer": "unlimited", "ecn": "off", "delay": "0 s"}},
        "host": {"jitter": False},
        "transport": {"kind": "udp", "rate": "10 Gbps"},
        "traffic": [job([0, 2], **message), job([1, 3], **message)],
    }


@pytest.mark.parametrize("balance", ["ecmp", "spray", "uec-mixed"])
def test_jobs_on_racks_of_their_own_cost_each_other_nothing(tmp_path: Path, balance: str) -> None:
    apart = racks(list(range(8)), list(range(8, 16)))
    found = ab.interference(apart, {"routing.balance": balance}, runs=tmp_path, progress=False)
    assert [one.times for one in found.jobs] == [1.0, 1.0]
    assert [one.completion_times for one in found.jobs] == [1.0, 1.0]
    assert [one.steps for one in found.jobs] == [3, 3]
    assert found.links == []
    # Not because they were alone all the time: the same jobs in the same racks are not free.
    mixed = racks([0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15])
    found = ab.interference(mixed, {"routing.balance": balance}, runs=tmp_path, progress=False)
    assert max(one.times or 0 for one in found.jobs) > 1.1
    # Eight links up, eight down, both ways round the rings.
    pairs = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(4) for spine in range(2)]
    every = {f"{a}>{b}" for pair in pairs for a, b in (pair, pair[::-1])}
    shared = {one.link for one in found.links or []}
    # Under ECMP each pair of ranks has one path for the whole job, so some links have one job only.
    assert shared <= every if balance == "ecmp" else shared == every
    assert shared


def test_two_jobs_over_one_link_take_twice_as_long(tmp_path: Path) -> None:
    """Datagrams over three links, store and forward; at the shared one frames of both jobs alternate."""
    found = ab.interference(one_link(), runs=tmp_path, progress=False)
    alone_ns, together_ns = (FRAMES + 2) * FRAME_NS, (2 * FRAMES + 2) * FRAME_NS
    # One of the two has its last frame before the other's.
    assert sorted(one.together_ns or 0 for one in found.jobs) == pytest.approx([together_ns - FRAME_NS, together_ns])
    for one in found.jobs:
        assert one.apart_ns == pytest.approx(alone_ns)
        assert one.times == pytest.approx(2.0, rel=0.01)
    [link] = found.links or []
    assert (link.link, link.rate_bps) == ("leaf0>leaf1", 1e10)
    assert link.bytes == {0: FRAMES * 1518, 1: FRAMES * 1518}


def test_an_idle_job_keeps_its_place_and_sends_nothing(tmp_path: Path) -> None:
    both = ab.run(one_link(), runs=tmp_path, progress=False)
    idle = ab.run(one_link(), {"traffic.0.idle": True}, runs=tmp_path, progress=False)
    assert idle.flows.height == both.flows.height == 2
    assert idle.flows["src"].to_list() == both.flows["src"].to_list()
    assert idle.flows.filter(pl.col("start_ns").is_null())["src"].to_list() == [0]
    assert idle.flows.filter(pl.col("finished"))["src"].to_list() == [1]
    times = idle.steps.filter(pl.col("job") == 0)["time_ns"]
    assert times.null_count() == len(times)
    # Nothing waits for it: the run ends with the other's last byte.
    assert idle.manifest["end_ns"] == pytest.approx((FRAMES + 2) * FRAME_NS)


def test_the_command_prints_it_and_reports_have_it(tmp_path: Path) -> None:
    file = tmp_path / "one-link.toml"
    ab.Scenario(one_link()).to_toml(file)
    done = anabranch("run", str(file), "--apart", "--runs", str(tmp_path), "--json", str(tmp_path / "run.json"))
    words = done.stdout.split()
    assert "leaf0>leaf1" in words
    found = json.loads((tmp_path / "run.json").read_text())["interference"]
    assert [f"{one['times']:.3f}" in words for one in found["jobs"]] == [True, True]
    folder = next(path for path in tmp_path.iterdir() if (path / "interference.json").exists())
    section = step_section(gather([folder]))
    assert section is not None
    assert section.costs is not None
    assert [row[5] for row in section.costs[1]] == [f"{one['times']:.3f}" for one in found["jobs"]]
    assert [table[1][0][0] for _, table, _ in section.links] == ["leaf0>leaf1"]
    # Nothing runs twice.
    again = anabranch("run", str(file), "--apart", "--runs", str(tmp_path))
    assert "complete, not run again" in again.stdout
    assert "leaf0>leaf1" in again.stdout


def test_one_job_has_nobody_to_be_compared_with(tmp_path: Path) -> None:
    file = tmp_path / "one-link.toml"
    ab.Scenario(one_link()).to_toml(file)
    done = anabranch("run", str(file), "--apart", "--runs", str(tmp_path), "-o", "traffic.0.idle=true")
    assert done.returncode == 2
    assert "--apart: 1 of the scenario's 2 jobs begin" in done.stderr
    assert not list(tmp_path.glob("one-link-*"))
