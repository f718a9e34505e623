"""`anabranch show` lists names, and `anabranch run` says when nothing could get through."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.command import anabranch
from support.small_scenario import write_small

TRAFFIC = """
[[traffic]]
sizes = "web-search"
load = 0.4
duration = "20 ms"
"""


def test_nodes_are_listed_and_cores_are_called_so(tmp_path: Path) -> None:
    path = tmp_path / "tree.toml"
    path.write_text(f'[fabric]\nkind = "fat-tree"\nk = 4\nuplink.rate = "1 Gbps"\n{TRAFFIC}')
    done = anabranch("show", str(path))
    assert done.returncode == 0, done.stderr
    assert "\nhost: host0 to host15\n" in done.stdout
    assert "\nleaf: leaf0 to leaf7\n" in done.stdout
    assert "\naggregation: agg0.0 to agg0.1, agg1.0 to agg1.1, agg2.0 to agg2.1, agg3.0 to agg3.1\n" in done.stdout
    assert "\ncore: core0 to core3\n" in done.stdout
    assert "aggregation - core" in done.stdout
    assert "aggregation to core" in done.stdout
    assert "spine" not in done.stdout
    # Every name that stands there can be written in a scenario.
    for name in ("leaf7-agg3.0", "agg0.1-core3", "host15-leaf7"):
        change = f'change.0={{link="{name}", set="down"}}'
        assert anabranch("show", str(path), "-o", change).returncode == 0


def test_a_spine_above_leaves_stays_a_spine(tmp_path: Path) -> None:
    done = anabranch("show", str(write_small(tmp_path)))
    assert "\nspine: spine0 to spine1\n" in done.stdout
    assert "leaf - spine" in done.stdout


def test_a_run_in_which_nothing_gets_through_has_a_status(tmp_path: Path) -> None:
    path = write_small(tmp_path)
    down = 'change.0={switch=["spine0", "spine1"], set="down"}'
    # Within a leaf flows end; between leaves, none does.
    between = ("-o", "traffic.pattern=inter-rack")
    done = anabranch("run", str(path), "-o", down, *between, "--runs", str(tmp_path / "runs"))
    assert done.returncode == 1
    assert re.search(
        r"warning: (\d+) of \1 flows are between hosts that no path joins after the last change, at 0 s", done.stdout
    )
    assert done.stderr.endswith(": no path joins the hosts of any flow after the last change, and no flow ended\n")
    # It is the same when the results are there.
    assert anabranch("run", str(path), "-o", down, *between, "--runs", str(tmp_path / "runs"), "-q").returncode == 1
    late = down.replace("{", '{at="5 ms", ')
    done = anabranch("run", str(path), "-o", late, *between, "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert "no path joins after the last change, at 5 ms" in done.stdout


def test_a_graph_says_its_messages_and_a_run_its_work(tmp_path: Path) -> None:
    path = tmp_path / "ring.toml"
    path.write_text(
        '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\n[transport]\nkind = "roce"\n\n'
        '[[traffic]]\nkind = "graph"\ncollective = "all-reduce"\nalgorithm = "ring"\nsize = "4 MB"\n'
    )
    done = anabranch("show", str(path), "--json", str(tmp_path / "show.json"))
    assert done.returncode == 0, done.stderr
    shown = json.loads((tmp_path / "show.json").read_text())
    # A ring of 4 ranks: 2 x 3 steps, in each of which every rank sends a quarter.
    assert shown["graphs"] == [{"ranks": 4, "messages": 24, "bytes": 24_000_000}]
    assert re.search(r"^job ranks messages traffic\n +0 +4 +24 24\.0 MB$", done.stdout, re.MULTILINE)
    hops = shown["expected_packet_hops"]
    work = f"a run: about {hops / 1e3:.1f} thousand packet-hops, 1 s of one core at 10.0 million a second"
    assert work in done.stdout.splitlines()
    ran = anabranch("run", str(path), "--runs", str(tmp_path / "runs"), "--json", "-")
    assert json.loads(ran.stdout)["manifest"]["packet_hops"] == pytest.approx(hops, rel=0.05)
