"""The drawing of a fabric: everything stands somewhere, nothing stands on another."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array

from anabranch import _core
from anabranch.report.plot.fabric import HEAT, draw
from anabranch.report.plot.fabric_changes import DEAD, LOSSY, SLOW, colour_of
from anabranch.report.plot.fabric_geometry import BOX_INCHES, Drawing
from anabranch.report.plot.fabric_layout import layout
from anabranch.report.plot.style import save
from anabranch.simulate.stats.change_text import change_text
from support.synthetic import fat_tree, leaf_spine, topology

FABRICS = {
    "4x4x8": leaf_spine(4, 4, 8),
    "64x32": leaf_spine(64, 32, 2),
    "fat-tree 4": fat_tree(4, 2),
    "fat-tree 12": fat_tree(12, 24),
}


@pytest.mark.parametrize("name", FABRICS)
def test_every_switch_stands_once_and_none_on_another(name: str) -> None:
    fabric = FABRICS[name]
    drawing = Drawing(layout(fabric))
    laid = drawing.laid
    assert sorted(laid.box_of) == list(range(fabric["hosts"], len(fabric["nodes"]["name"])))
    assert sorted(host for hosts in laid.hosts_of.values() for host in hosts) == list(range(fabric["hosts"]))
    for a, b in combinations(laid.boxes, 2):
        if a.row < b.row + b.rows and b.row < a.row + a.rows:
            assert abs(drawing.x(a) - drawing.x(b)) >= (drawing.width(a) + drawing.width(b)) / 2


def built(keys: str) -> dict[str, Any]:
    return _core.Fabric(f"[fabric]\n{keys}", "fabric.toml").topology()


def stand_apart(fabric: dict[str, Any]) -> Drawing:
    """Boxes of a drawing, none on another."""
    drawing = Drawing(layout(fabric))
    for a, b in combinations(drawing.laid.boxes, 2):
        beside = abs(drawing.x(a) - drawing.x(b)) >= (drawing.width(a) + drawing.width(b)) / 2
        assert beside or abs(drawing.y(a.row) - drawing.y(b.row)) >= BOX_INCHES, (a, b)
    return drawing


@pytest.mark.parametrize(("routers", "boxes"), [(4, 36), (8, 33)])
def test_routers_of_a_dragonfly_stand_in_rings_and_of_many_their_groups(routers: int, boxes: int) -> None:
    half = routers // 2
    keys = f'kind = "dragonfly"\nrouters_per_group = {routers}\nglobal_links_per_router = {half}'
    fabric = built(keys)
    drawing = stand_apart(fabric)
    assert len(drawing.laid.boxes) == boxes
    assert sorted(drawing.laid.box_of) == list(range(fabric["hosts"], len(fabric["nodes"]["name"])))
    # A line per direction of each link between boxes: all of them, or those between groups.
    groups = routers * half + 1
    joined = groups * (groups - 1) // 2 + (groups * routers * (routers - 1) // 2 if boxes > groups else 0)
    assert len(_lines(fabric).get_segments()) == 2 * joined


def test_network_cards_of_a_server_stand_in_its_box() -> None:
    fabric = built('kind = "rail-optimised"\nsegments = 2\nservers_per_segment = 3\naccelerators_per_server = 4')
    drawing = stand_apart(fabric)
    laid, names = drawing.laid, fabric["nodes"]["name"]
    for server in range(6):
        box = laid.box_of[names.index(f"server{server}")]
        assert [laid.box_of[4 * server + number] for number in range(4)] == [box] * 4
        assert [names[host] for host in laid.hosts_of[box]] == [f"scaleup{4 * server + number}" for number in range(4)]
    # Four links of each server to its rails, four spines above eight leaves.
    assert len(_lines(fabric).get_segments()) == 2 * (6 * 4 + 8 * 4)
    words = [text.get_text() for text in draw(fabric).axes[0].texts]
    assert "24 hosts" in words
    assert "6 servers" in words


def test_of_many_pods_those_are_open_in_which_something_happens() -> None:
    fabric = fat_tree(12, 2)
    names, source = fabric["nodes"]["name"], fabric["ports"]["from"]
    port = source.index(names.index("aggregation45"))
    fabric["changes"] = [{"at_ns": 0, "what": "port_down", "port": port, "value": None}]
    boxes = layout(fabric).boxes
    closed = {box.name for box in boxes if box.rows > 1}
    assert closed == {str(pod) for pod in range(12)} - {"0", "7"}


def _lines(fabric: dict[str, Any], utilization: list[float] | None = None) -> LineCollection:
    found = draw(fabric, None if utilization is None else np.array(utilization))
    return next(child for child in found.axes[0].get_children() if isinstance(child, LineCollection))


def test_each_half_of_a_link_has_the_colour_of_its_own_port() -> None:
    """A line per direction, from its own end to the middle: one leaf, two spines."""
    tiers = ["host", "leaf", "spine", "spine"]
    fabric = topology(tiers, [None] * 4, [(0, 1), (1, 2), (1, 3)])
    busy = [0.0, 0.0, 0.9, 0.1, 0.4, 0.6]
    lines = _lines(fabric, busy)
    colours = to_rgba_array(lines.get_colors())
    assert sorted(map(tuple, colours)) == sorted(HEAT(value) for value in busy[2:])
    # Up ports begin at the lower end, so their halves are the lower ones.
    lower = [colour for segment, colour in zip(lines.get_segments(), colours, strict=True) if _rises(segment)]
    assert sorted(map(tuple, lower)) == sorted(HEAT(value) for value in (busy[2], busy[4]))


def _rises(segment: Any) -> bool:
    """Whether a half line goes up from its port's end."""
    return bool(segment[1][1] > segment[0][1])


def test_parallel_links_lie_beside_each_other() -> None:
    tiers = ["host", "host", "leaf", "leaf", "spine"]
    fabric = topology(tiers, [None] * 5, [(0, 2), (1, 3), (2, 4), (2, 4), (3, 4)])
    starts = {tuple(np.round(segment[0], 4)) for segment in _lines(fabric).get_segments()}
    assert len(starts) == 6


def test_leaves_that_are_joined_directly_are_drawn_side_by_side() -> None:
    fabric = topology(["host", "host", "leaf", "leaf"], [None] * 4, [(0, 2), (1, 3), (2, 3)])
    for segment in _lines(fabric).get_segments():
        assert segment[0][1] == segment[1][1]


def test_changes_are_told_in_words() -> None:
    changes = [
        {"at_ns": 0, "what": "port_down", "value": None},
        {"at_ns": 5e6, "what": "port_rate", "value": 2.5e9},
        {"at_ns": 0, "what": "node_blackhole", "value": 0.1},
        {"at_ns": 1e9, "what": "node_up", "value": None},
    ]
    assert [change_text(change) for change in changes] == ["down", "2.5 Gbps, 5 ms", "blackhole 10 %", "up, 1 s"]
    assert [colour_of(change) for change in changes] == [DEAD, SLOW, LOSSY, None]


def test_what_fails_is_marked_and_what_recovers_stays_marked() -> None:
    fabric = leaf_spine(2, 2, 1)
    fabric["changes"] = [
        {"at_ns": 0, "what": "port_down", "port": 4, "value": None},
        {"at_ns": 0, "what": "port_down", "port": 5, "value": None},
        {"at_ns": 1000, "what": "port_up", "port": 4, "value": None},
        {"at_ns": 0, "what": "node_down", "node": 5, "value": None},
    ]
    axes = draw(fabric).axes[0]
    assert [text.get_text() for text in axes.texts if text.get_color() == DEAD] == ["down", "down"]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == 2


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_fabric_gives_the_same_file(tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    for path in (first, second):
        save(draw(FABRICS["fat-tree 4"]), path)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 5000
