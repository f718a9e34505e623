"""A folder of conweave-ns3's form is the scenario that is compared with its eight cells: all flows end alike."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import polars as pl
import pytest

import anabranch as ab
from anabranch.simulate.importing.bring import bring
from anabranch.simulate.runs.load import load

BENCH = Path(__file__).resolve().parents[3] / "bench" / "conweave"
FLOWS = 6000
"""Flows of the list that run: 0.6 ms, in which hundreds of packets are marked."""
MODES = {"ecmp": 0, "conga": 3, "letflow": 6, "conweave": 9}


def _cells() -> Any:
    spec = importlib.util.spec_from_file_location("conweave_cells", BENCH / "cells.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


cells = _cells()


def topology() -> str:
    """128 hosts in 8 racks and 8 spines, as conweave-ns3 writes it, with a line of explanation below."""
    switches = " ".join(map(str, range(128, 144)))
    links = [(host, 128 + host // 16) for host in range(128)]
    links += [(leaf, spine) for leaf in range(128, 136) for spine in range(136, 144)]
    lines = [f"{a} {b} 100Gbps 1000ns 0" for a, b in links]
    return "\n".join(["144 16 192", switches, *lines, "host leaf rate delay error"]) + "\n"


def flow_list(flows: pl.DataFrame) -> str:
    """Flows from second 2 on, half a nanosecond later than they begin: a start is cut to whole nanoseconds."""
    rows = flows.select("src", "dst", "size_bytes", "start_ns").iter_rows()
    lines = [f"{src} {dst} 3 {size} 2.{start * 10 + 5:010d}" for src, dst, size, start in rows]
    return "\n".join([str(len(lines)), *lines]) + "\n"


def config(recovery: str, mode: int) -> str:
    """Settings of a cell."""
    by_rate = {"KMIN_MAP": "100", "KMAX_MAP": "400", "PMAX_MAP": "0.2"}
    maps = [f"{key} 2 100000000000 {value} 400000000000 {value}" for key, value in by_rate.items()]
    lossless = int(recovery == "go-back-n")
    keys = {
        "TOPOLOGY_FILE": "topology.txt",
        "FLOW_FILE": "flow.txt",
        "ENABLE_PFC": lossless,
        "ENABLE_IRN": 1 - lossless,
        "LB_MODE": mode,
        "CC_MODE": 1,
        "ALPHA_RESUME_INTERVAL": 1,
        "RATE_DECREASE_INTERVAL": 4,
        "CLAMP_TARGET_RATE": 0,
        "RP_TIMER": 300,
        "FAST_RECOVERY_TIMES": 1,
        "EWMA_GAIN": 0.00390625,
        "RATE_AI": "40.0Mb/s",
        "RATE_HAI": "100.0Mb/s",
        "MIN_RATE": "100Mb/s",
        "HAS_WIN": 0,
        "BUFFER_SIZE": 9,
        "PACKET_PAYLOAD_SIZE": 1000,
        "CONWEAVE_TX_EXPIRY_TIME": 300,
        "CONWEAVE_REPLY_TIMEOUT_EXTRA": 4,
        "CONWEAVE_PATH_PAUSE_TIME": 16,
        "CONWEAVE_EXTRA_VOQ_FLUSH_TIME": 16,
        "CONWEAVE_DEFAULT_VOQ_WAITING_TIME": 200,
        "RANDOM_SEED": 1,
    }
    return "\n".join([f"{key} {value}" for key, value in keys.items()] + maps) + "\n"


@pytest.mark.parametrize("recovery", cells.RECOVERIES)
@pytest.mark.parametrize("scheme", MODES)
def test_an_imported_cell_is_the_one_that_is_compared(recovery: str, scheme: str, tmp_path: Path) -> None:
    flows = cells.list_of_flows().head(FLOWS)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "topology.txt").write_text(topology())
    (theirs / "flow.txt").write_text(flow_list(flows))
    (theirs / "config.txt").write_text(config(recovery, MODES[scheme]))
    brought = bring([theirs], tmp_path / "ours")
    assert (brought.hosts, brought.nodes, brought.links, brought.flows) == (128, 144, 192, FLOWS)
    assert brought.warnings == []
    results = ab.run(tmp_path / "ours" / "scenario.toml", runs=tmp_path / "runs", progress=False)
    found = results.flows.sort("flow")
    assert found["start_ns"].cast(pl.Int64).to_list() == flows["start_ns"].to_list()
    expected = cells.run(recovery, cells.ROUTING[scheme], flows, 1)
    assert results.ports["marked_packets"].sum() > 100
    assert found["fct_ns"].equals(expected.fct_ns)


@pytest.mark.parametrize("recovery", cells.RECOVERIES)
def test_settings_are_those_of_that_scenario(recovery: str, tmp_path: Path) -> None:
    for name, text in (("topology", topology()), ("flow", "1\n0 127 3 1 2.0\n"), ("config", config(recovery, 0))):
        (tmp_path / f"{name}.txt").write_text(text)
    bring([tmp_path], tmp_path / "ours")
    (tmp_path / "flows.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,127,1,0\n")
    (tmp_path / "compared.toml").write_text((BENCH / f"{recovery}.toml").read_text())
    imported, compared = (
        tomllib.loads(load(tmp_path / name).resolved_toml()) for name in ("ours/scenario.toml", "compared.toml")
    )
    # What follows from the rate of links there is written here.
    for key in ("additive", "hyper"):
        del imported["transport"][key]
    assert [imported[table] for table in ("transport", "framing", "host")] == [
        compared[table] for table in ("transport", "framing", "host")
    ]
    assert imported["fabric"]["switch"] == compared["fabric"]["switch"]


def test_the_fabric_is_the_leaf_spine_of_those_scenarios(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(topology())
    bring([tmp_path], tmp_path / "ours")
    imported = load(tmp_path / "ours" / "scenario.toml").topology()
    (tmp_path / "flows.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,127,1,0\n")
    (tmp_path / "compared.toml").write_text((BENCH / "go-back-n.toml").read_text())
    compared = load(tmp_path / "compared.toml").topology()
    assert imported["nodes"]["tier"] == compared["nodes"]["tier"]
    for column in ("from", "to", "rate_bps", "delay_ns"):
        assert imported["ports"][column] == compared["ports"][column], column
