"""`anabranch plan --target wino FABRIC.toml`: the slices of a pair of leaves, as the controller would cut them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.targets.plan.slices import Cut
from support.command import Run, anabranch

ROOT = Path(__file__).parents[3]
FIG_1 = ROOT / "examples" / "wino-fig1.toml"
M = 1_000_000


def plan(fabric: Path, *arguments: str) -> Run:
    return anabranch("plan", "--target", "wino", str(fabric), "--pair", "leaf0", "leaf1", *arguments)


def record(fabric: Path, *arguments: str) -> dict[str, Any]:
    done = plan(fabric, *arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_figure_1_has_the_slices_of_figure_3() -> None:
    found = record(FIG_1)
    assert (found["slice_bps"], found["slices"], found["waste_bps"], found["notes"]) == (200 * M, 5, 0, [])
    paths = {row["switches"][1]: (row["left_bps"], row["slices"]) for row in found["tables"]["paths"]}
    assert paths == {"spine0": (600 * M, 3), "spine1": (200 * M, 1), "spine2": (200 * M, 1)}
    slices = found["tables"]["slices"]
    assert [(row["label"], row["path"]) for row in slices] == [(1, 1), (2, 2), (3, 3), (4, 1), (5, 1)]
    # 1 ms of 200 Mbit/s.
    assert {(row["meter_bps"], row["burst_bytes"]) for row in slices} == {(200 * M, 25_000)}


@pytest.mark.parametrize(
    ("left_mbps", "keys"),
    [
        ((600, 200, 200), {}),
        ((600, 200, 200), {"slice_max": "50 Mbps"}),
        ((997, 401, 211), {}),
        ((997, 401, 211), {"pick": "literal"}),
        ((997, 401, 211), {"pick": "min-waste", "label_bits": "4"}),
        ((500, 500, 500), {}),
    ],
)
def test_the_slices_are_those_that_the_controller_cuts(
    left_mbps: tuple[int, ...], keys: dict[str, str], tmp_path: Path
) -> None:
    changes = "".join(
        f'[[change]]\nlink = "leaf0-spine{spine}"\nrate = "{mbps} Mbps"\n' for spine, mbps in enumerate(left_mbps)
    )
    fabric = tmp_path / "fabric.toml"
    link = 'link = { rate = "1 Gbps" }'
    fabric.write_text(f'[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 3\n{link}\n{changes}')
    options = [word for key, value in keys.items() for word in ("-o", f"routing.scheme.{key}={value}")]
    found = record(fabric, *options)
    cut = Cut(
        slice_max_bps=50 * M if "slice_max" in keys else None,
        pick=keys.get("pick", "least-loss"),
        label_bits=int(keys.get("label_bits", 6)),
        burst_s=0.001,
    ).slices([(mbps * M, False) for mbps in left_mbps])
    assert cut is not None
    assert found["slice_bps"] == cut.slice_bps
    assert [row["path"] - 1 for row in found["tables"]["slices"]] == list(cut.path_of)
    assert found["waste_bps"] == cut.waste_bps


def test_a_path_without_a_slice_is_said() -> None:
    found = record(FIG_1, "-o", "routing.scheme.slice_min=300 Mbps")
    assert "2 of 3 paths have less than a slice" in found["notes"][0]


def test_a_pair_that_no_path_joins_is_refused(tmp_path: Path) -> None:
    fabric = tmp_path / "cut.toml"
    cut = '[[change]]\nlink = "leaf0-spine0"\nset = "down"\n'
    fabric.write_text(f'[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 1\n{cut}')
    done = plan(fabric)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{fabric}: no path joins leaf0 and leaf1; give two leaves" in done.stderr


def test_the_guide_shows_what_is_printed() -> None:
    guide = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    shown = guide.partition("$ anabranch plan --target wino examples/wino-fig1.toml --pair leaf0 leaf1\n")[2]
    block = shown.partition("```")[0]
    assert block.splitlines() == [line.rstrip() for line in plan(FIG_1).stdout.splitlines()]
