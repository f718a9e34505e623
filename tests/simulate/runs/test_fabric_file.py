"""A fabric out of the controller's file: its groups, paths and slices."""

from __future__ import annotations

import pytest

from anabranch import AnabranchError, _core

FILE = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1

[switch.leaf0]
openflow = "unix:/nowhere"
"""


def test_groups_follow_rates_and_dead_links() -> None:
    fabric = _core.Fabric(FILE, "fabric.toml")
    ports = fabric.topology()["ports"]
    up, rate_bps = [True] * len(ports["from"]), [10**10] * len(ports["from"])
    names = fabric.topology()["nodes"]["name"]
    leaf0, leaf1, spine1 = (names.index(name) for name in ("leaf0", "leaf1", "spine1"))
    slow = next(p for p, ends in enumerate(zip(ports["from"], ports["to"], strict=True)) if ends == (leaf0, spine1))
    rate_bps[slow] = 2_500_000_000

    def members(by_capacity: bool) -> list[int]:
        groups = fabric.groups(up, rate_bps, by_capacity)
        (found,) = [row[2] for row in groups if row[0] == leaf0 and leaf1 in row[1]]
        return [weight for _, weight in found]

    assert members(True) == [4, 1]
    assert members(False) == [1, 1]
    assert len(fabric.paths(up, leaf0, leaf1)) == 2
    up[slow] = False
    assert members(True) == [1]
    assert [len(path) for path in fabric.paths(up, leaf0, leaf1)] == [2]


def test_only_the_fabric_is_read_and_its_errors_name_the_line() -> None:
    with pytest.raises(AnabranchError, match=r"fabric\.toml:4: fabric\.leafs: unknown key"):
        _core.Fabric(FILE.replace("leaves", "leafs"), "fabric.toml")
    with pytest.raises(AnabranchError, match=r"fabric\.toml: fabric: missing"):
        _core.Fabric("[switch.leaf0]", "fabric.toml")


def test_slices_of_the_papers_example() -> None:
    # Wino section II-B: 600, 200 and 200 Mbit/s are slices of 200, three on the first path.
    def cut(
        *left_mbps: int, measured: bool = False, pick: str = "least-loss"
    ) -> tuple[int, list[int], int, bool] | None:
        return _core.cut_slices(
            [(1_000_000 * mbps, measured) for mbps in left_mbps],
            pick=pick,
            slice_min_bps=7_000_000,
            slice_max_bps=None,
            quantum_bps=None,
            label_bits=6,
            burst_ns=1_000_000,
            frame_bytes=1518,
        )

    assert cut(600, 200, 200) == (200_000_000, [0, 1, 2, 0, 0], 0, True)
    assert cut(601, 199, 200, measured=True) == (199_000_000, [0, 1, 2, 0, 0], 5_000_000, True)
    with pytest.raises(AnabranchError, match="pick: least: give one of least-loss, literal, min-waste"):
        cut(600, 200, pick="least")


def test_traffic_in_no_slice_counts_once_it_has_changed() -> None:
    assert _core.outside_bps(400, 440, 1000, 0.05) == 400
    assert _core.outside_bps(400, 460, 1000, 0.05) == 460
    assert _core.outside_bps(400, 20, 1000, 0.05) == 0
