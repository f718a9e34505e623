"""`anabranch plan FABRIC.toml`: DBB's plans for pairs of leaves, as its paper prints them; errors, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import Run, anabranch

ROOT = Path(__file__).parents[3]
FIG_2, FIG_5 = (str(ROOT / "examples" / f"dbb-fig{number}.toml") for number in (2, 5))
PAIR = ("--pair", "S1", "S6")


def plan(fabric: str | Path, *arguments: str, pair: tuple[str, ...] = PAIR) -> Run:
    return anabranch("plan", "--target", "dbb", str(fabric), *pair, *arguments)


def record(fabric: str | Path, *arguments: str, pair: tuple[str, ...] = PAIR) -> dict[str, Any]:
    done = plan(fabric, *arguments, "--json", "-", pair=pair)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def printed(text: str, title: str) -> list[list[str]]:
    """Cells of the rows below a title, up to the blank line."""
    lines = text.partition(f"\n{title}")[2].partition("\n\n")[0].splitlines()[1:]
    return [line.split() for line in lines if line.split()[0].isdecimal()]


# Tables I to IV of the paper, packet by packet. In the last row of Table II it prints 0 and 1 where its own choices
# leave 1 and 0: packet 3 takes S5, packet 4 takes S4.
TABLE_1 = [(2, 2, "S2"), (1, 2, "S3"), (1, 1, "S2"), (0, 1, "S3")]
TABLE_2 = [("S2", 2, 2, "S4"), ("S3", 1, 2, "S5"), ("S2", 1, 1, "S5"), ("S3", 1, 0, "S4")]
TABLE_3 = ["S1 S2 S4 S6", "S1 S3 S5 S6", "S1 S2 S5 S6", "S1 S3 S4 S6"]
TABLE_4 = [
    "S1 S2 S4 S6",
    "S1 S3 S5 S6",
    "S1 S3 S5 S6",
    "S1 S3 S4 S6",
    "S1 S3 S5 S6",
    "S1 S2 S5 S6",
    "S1 S3 S4 S6",
    "S1 S3 S5 S6",
    "S1 S3 S4 S6",
    "S1 S3 S5 S6",
]


def test_figure_2_prints_tables_1_to_3() -> None:
    done = plan(FIG_2)
    assert done.returncode == 0, done.stderr
    assert "maximum flow          12 Gbps" in done.stdout
    assert "4 = lcm(2, 4, 2)" in done.stdout
    first = printed(done.stdout, "Dispatching at stage 1")
    assert first == [[str(n), "S1", str(a), str(b), to] for n, (a, b, to) in enumerate(TABLE_1, 1)]
    second = printed(done.stdout, "Dispatching at stage 2")
    assert second == [[str(n), at, str(a), str(b), to] for n, (at, a, b, to) in enumerate(TABLE_2, 1)]
    assert printed(done.stdout, "Cycle") == [[str(n), *path.split()] for n, path in enumerate(TABLE_3, 1)]
    assert "Dispatching at stage 3" not in done.stdout, "nothing to choose there"
    links = {row[1]: row[4:] for row in printed(done.stdout.replace(" Gbps", "Gbps"), "Links")}
    assert links == {
        "S1>S2": ["1", "2"],
        "S1>S3": ["1", "2"],
        "S2>S4": ["1", "1"],
        "S2>S5": ["1", "1"],
        "S3>S4": ["1", "1"],
        "S3>S5": ["1", "1"],
        "S4>S6": ["1", "2"],
        "S5>S6": ["1", "2"],
    }
    assert printed(done.stdout, "Lists")[:3] == [
        ["1", "S1", "4", "S2", "S3"],
        ["2", "S2", "2", "S4", "S5"],
        ["2", "S3", "2", "S5", "S4"],
    ]


def test_figure_5_prints_table_4() -> None:
    done = plan(FIG_5)
    assert "10 = lcm(5, 10, 5)" in done.stdout
    assert printed(done.stdout, "Cycle") == [[str(n), *path.split()] for n, path in enumerate(TABLE_4, 1)]


def test_json_has_units_and_every_row() -> None:
    found = record(FIG_5)
    assert (found["balance"], found["from"], found["to"]) == ("dbb", "S1", "S6")
    assert (found["max_flow_bps"], found["carried_bps"], found["lost_pct"]) == (10_000_000_000, 10_000_000_000, 0)
    assert (found["stages"], found["cycle_packets"], found["notes"]) == (4, 10, [])
    tables = found["tables"]
    assert [row["ratio_sum"] for row in tables["stages"]] == [5, 10, 5, None]
    by_link = {row["link"]: row for row in tables["links"]}
    assert by_link["S3>S5"] == {
        "stage": 2,
        "link": "S3>S5",
        "capacity_bps": 5_000_000_000,
        "flow_bps": 5_000_000_000,
        "ratio": 5,
        "quota_packets": 5,
    }
    assert [row["ratio"] for row in by_link.values()] == [1, 4, 1, 1, 3, 5, 2, 3]
    assert [" ".join(row["path"].values()) for row in tables["cycle"]] == TABLE_4
    assert tables["dispatching_stage_2"][0] == {
        "packet": 1,
        "switch": "S2",
        "left_packets": {"S4": 4, "S5": 6},
        "next_hop": "S4",
    }
    lists = {row["switch"]: row["next_hops"] for row in tables["lists"]}
    assert lists["S3"] == ["S5", "S5", "S4", "S5", "S4", "S5", "S4", "S5"]


def test_changes_at_the_start_count_and_later_ones_do_not(tmp_path: Path) -> None:
    fabric = tmp_path / "changed.toml"
    fabric.write_text(
        """
        [fabric]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        parallel_links = 2
        [[change]]
        link = "leaf0-spine0#1"
        set = "down"
        [[change]]
        at = "1 ms"
        switch = "spine1"
        set = "down"
        """
    )
    found = record(fabric, pair=("--pair", "leaf0", "leaf1"))
    assert found["max_flow_bps"] == 30_000_000_000
    assert {row["link"]: row["quota_packets"] for row in found["tables"]["links"]} == {
        "leaf0>spine0#0": 2,
        "leaf0>spine1#0": 2,
        "leaf0>spine1#1": 2,
        "spine0>leaf1#0": 1,
        "spine0>leaf1#1": 1,
        "spine1>leaf1#0": 2,
        "spine1>leaf1#1": 2,
    }
    assert "dispatching_stage_2" not in found["tables"], "parallel links to one switch are no choice of a switch"


def test_parameters_are_those_of_run_and_a_loss_is_said(tmp_path: Path) -> None:
    fabric = tmp_path / "coprime.toml"
    edges = ", ".join(
        f'{{ from = "S1", to = "m{i}", rate = "{rate} Mbps" }}, {{ from = "m{i}", to = "S2", rate = "{rate} Mbps" }}'
        for i, rate in enumerate((1009, 1013, 1019))
    )
    hosts = '{ from = "a", to = "S1" }, { from = "b", to = "S2" }'
    other = '[routing]\nbalance = "wcmp"\nentries = 8\n'
    fabric.write_text(f'[fabric]\nkind = "graph"\nedge = [{hosts}, {edges}]\n{other}')
    pair = ("--pair", "S1", "S2")
    assert record(fabric, pair=pair)["cycle_packets"] == 3041
    short = record(fabric, "-o", "routing.scheme.max_n=16", pair=pair)
    # One packet over each of three links: the narrowest is full first. Sixteen (5, 5 and 6) would carry 16 * 1019 / 6.
    assert short["cycle_packets"] == 3
    assert short["carried_bps"] == pytest.approx(3 * 1009e6, abs=1)
    assert short["lost_pct"] == pytest.approx(100 * (1 - 3 * 1009 / 3041))
    assert all(row["flow_bps"] <= row["capacity_bps"] for row in short["tables"]["links"])
    assert "routing.scheme.max_n" in short["notes"][0]
    told = plan(fabric, "-o", "routing.scheme.max_n=16", pair=pair).stdout
    assert "lost to rounding, %" in told
    assert "note: the exact cycle is longer" in told


def test_the_literal_rule_says_that_it_misses_quotas() -> None:
    found = record(FIG_2, "-o", "routing.scheme.rule=literal")
    assert found["notes"] == [
        'the cycle sends more or less than the quota over 4 of 8 links; routing.scheme.rule = "quota" keeps all quotas'
    ]


def test_the_controllers_file_is_a_fabric_too() -> None:
    found = record(ROOT / "examples" / "fabric.toml", pair=("--pair", "leaf0", "leaf1"))
    assert found["max_flow_bps"] == 20_000_000_000


def test_large_plans_stay_readable() -> None:
    done = plan(ROOT / "examples" / "fat-tree.toml", pair=("--pair", "leaf0", "leaf71"))
    assert "36 = lcm(6, 36, 36, 6)" in done.stdout
    assert "more rows: all are in --json" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


BAD = [
    (("--pair", "S9", "S6"), "pair: S9: unknown; give two leaves: S1, S6"),
    (("--pair", "h1", "S6"), "pair: h1: is a host; give its leaf, S1"),
    (("--pair", "S2", "S6"), "pair: S2: is no leaf, as it has no hosts; give two leaves: S1, S6"),
    (("--pair", "S6", "S6"), "pair: S6 S6: is the same leaf twice; give two leaves: S1, S6"),
    ((), "pair: missing; give two leaves"),
    ((*PAIR, "--weights", "1,2"), "weights: not used with"),
    ((*PAIR, "--bridge", "br1"), "bridge: br1: not used with"),
    ((*PAIR, "-o", "seed=3"), "-o seed=3: not used by a plan; change keys below fabric, change or routing"),
    ((*PAIR, "-o", "routing.balance=ecmp"), "-o routing.balance=ecmp: not used by a plan; leave it out"),
    ((*PAIR, "-o", "routing.scheme.max_nn=3"), "routing.scheme.max_nn: unknown key; did you mean `max_n`?"),
    ((*PAIR, "--target", "ovs"), "target: dbb, ovs; give one load balancer"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_refused_with_a_hint(arguments: tuple[str, ...], message: str) -> None:
    done = plan(FIG_2, *arguments, pair=())
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_near_names_are_suggested() -> None:
    done = plan(ROOT / "examples" / "fat-tree.toml", pair=("--pair", "leave0", "leaf1"))
    assert "pair: leave0: unknown; did you mean `leaf0`?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "conga", FIG_2, *PAIR), "target: conga: its controller makes no such plan; use one of dbb, wino"),
        (("--target", "dbx", FIG_2, *PAIR), "target: dbx: unknown load balancer; did you mean dbb?"),
        (("--target", "ovs", FIG_2, *PAIR), "target: ovs: plans for --weights, not for a fabric"),
        ((FIG_2, *PAIR), "target: missing; give one load balancer"),
        (("--target", "dbb", "--weights", "1,2"), "target: dbb: a load balancer, which plans for a fabric"),
        (("--weights", "1,2", *PAIR), "pair: needs a fabric; give its file"),
    ],
)
def test_targets_and_load_balancers_are_told_apart(arguments: tuple[str, ...], message: str) -> None:
    done = anabranch("plan", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_pair_that_no_path_joins_is_refused(tmp_path: Path) -> None:
    fabric = tmp_path / "cut.toml"
    cut = '[[change]]\nlink = "leaf0-spine0"\nset = "down"\n'
    fabric.write_text(f'[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 1\n{cut}')
    done = plan(fabric, pair=("--pair", "leaf0", "leaf1"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{fabric}: no path joins leaf0 and leaf1; give two leaves" in done.stderr


def test_a_file_without_a_fabric_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("seed = 1\n")
    done = plan(tmp_path / "empty.toml", pair=("--pair", "a", "b"))
    assert "fabric: missing; add [fabric] with a kind" in done.stderr


def test_the_guide_shows_what_is_printed() -> None:
    guide = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    shown = guide.partition("$ anabranch plan --target dbb examples/dbb-fig2.toml --pair S1 S6\n")[2]
    block = shown.partition("```")[0]
    assert block.splitlines() == [line.rstrip() for line in plan(FIG_2).stdout.splitlines()]
