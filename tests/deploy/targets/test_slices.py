"""Wino's slices as rules and meters."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.deploy.openflow.action import Metered, Output, ToGroup
from anabranch.deploy.openflow.tables import FAST_FAILOVER, Tables
from anabranch.deploy.targets.ovs import slices
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.plan.slices import Cut, Pair, Slices, published

M = 1_000_000


def pair(residual: list[int], cut: Cut | None = None, known: int = 0, to: int = 1) -> Pair:
    """From leaf0, whose port to spine number i is 10 + i; spine i's port to leaf number l is 20 + l."""
    found = (cut or Cut()).slices([(rate * M, False) for rate in residual])
    assert found is not None
    paths = tuple((("leaf0", 10 + spine), (f"spine{spine}", 20 + to)) for spine in range(len(residual)))
    return Pair("leaf0", f"leaf{to}", ("10.1.0.0/24",), (f"10.{to + 1}.0.0/24",), paths, found, known)


def by_label(tables: Tables) -> dict[int, Tables]:
    labels = {flow.match.as_mapping["ip_dscp"][0] for flow in tables.flows}
    return {
        label: Tables(frozenset(f for f in tables.flows if f.match.as_mapping["ip_dscp"][0] == label))
        for label in labels
    }


# (residual in Mbit/s, limits in Mbit/s, slice in Mbit/s, slices of each path, waste in Mbit/s)
GOLDEN = [
    ([600, 200, 200], {}, 200, [3, 1, 1], 0),
    ([10000, 5000], {}, 5000, [2, 1], 0),
    ([10000, 5000], {"slice_max_bps": 1000 * M}, 1000, [10, 5], 0),
    ([9000, 4000], {}, 1000, [9, 4], 0),
    ([10000, 1000], {}, 1000, [10, 1], 0),
    ([9000, 4000], {"slice_min_bps": 2000 * M}, 4000, [2, 1], 1000),
    ([9000, 4000], {"slice_min_bps": 2000 * M, "pick": "literal"}, 2000, [4, 2], 1000),
]


@pytest.mark.parametrize(("residual", "limits", "size", "counts", "waste"), GOLDEN)
def test_a_rule_and_a_meter_for_each_slice(
    residual: list[int], limits: dict[str, Any], size: int, counts: list[int], waste: int
) -> None:
    cut = pair(residual, Cut(**limits))
    assert (cut.slices.slice_bps, cut.slices.waste_bps) == (size * M, waste * M)
    held = slices.tables([cut], Ownership())
    leaf = held["leaf0"]
    assert len(leaf.flows) == len(leaf.meters) == sum(counts)
    assert {meter.rate_kbps for meter in leaf.meters} == {size * 1000}
    # A meter of its own, and the port of its path.
    ports: Counter[int] = Counter()
    used = set()
    preferred = {group.group_id: group.buckets[0].watch_port for group in leaf.groups}
    for flow in leaf.flows:
        metered, way = flow.actions
        assert isinstance(metered, Metered)
        assert isinstance(way, ToGroup)
        used.add(metered.meter_id)
        ports[preferred[way.group_id] - 10] += 1
    assert used == {meter.meter_id for meter in leaf.meters}
    assert [ports[path] for path in range(len(residual))] == counts
    # Each spine has the slices of its path, and no meter.
    for path, count in enumerate(counts):
        spine = held[f"spine{path}"]
        assert len(spine.flows) == count
        assert {flow.actions for flow in spine.flows} == {(Output(21),)}
        assert all(dict(flow.match.as_mapping)["ip_src"][0] == 0x0A010000 for flow in spine.flows)
        assert not spine.meters


def test_equal_paths_need_no_meters_and_meters_can_be_left_out() -> None:
    equal = pair([1000, 1000])
    assert equal.slices == Slices(1000 * M, (0, 1), 0, False)
    assert not slices.tables([equal], Ownership())["leaf0"].meters
    unequal = slices.tables([pair([1000, 500])], Ownership(), meters=False)["leaf0"]
    assert not unequal.meters
    assert {len(flow.actions) for flow in unequal.flows} == {1}


def test_labels_that_ended_are_aliases_of_the_slices_that_are() -> None:
    # Five slices became two: until hosts know, labels 3 to 5 go where 1 and 2 go, through the same meters.
    held = slices.tables([pair([200, 400], known=5)], Ownership())["leaf0"]
    assert len(held.meters) == 3
    actions = {label: next(iter(found.flows)).actions for label, found in by_label(held).items()}
    assert set(actions) == {1, 2, 3, 4, 5}
    assert (actions[4], actions[5]) == (actions[1], actions[2])
    # Never more labels than a DSCP field has.
    assert len(pair([200, 400], known=500).path_of_label) == 63


def test_slices_of_a_dead_port_have_the_other_paths_to_go_by() -> None:
    held = slices.tables([pair([600, 200, 200]), pair([1000, 500, 0], to=2), pair([1000, 0, 0], to=3)], Ownership())
    leaf = held["leaf0"]
    orders = sorted(tuple(bucket.watch_port for bucket in group.buckets) for group in leaf.groups)
    # Groups are of ports, whoever they lead to.
    assert orders == [(10, 11, 12), (11, 12, 10), (12, 10, 11)]
    for group in leaf.groups:
        assert group.kind == FAST_FAILOVER
        assert all(bucket.actions == (Output(bucket.watch_port),) for bucket in group.buckets)
    assert not held["spine0"].groups
    # One path needs none.
    alone = slices.tables([pair([1000])], Ownership())["leaf0"]
    assert not alone.groups
    assert {flow.actions for flow in alone.flows} == {(Output(10),)}


def test_each_destination_has_meters_of_its_own() -> None:
    held = slices.tables([pair([1000, 500], to=to) for to in (1, 2, 3)], Ownership(owner=2))["leaf0"]
    assert {meter.meter_id for meter in held.meters} == {Ownership(owner=2).meter_id(number) for number in range(9)}
    assert len({flow.actions[0] for flow in held.flows}) == 9
    with pytest.raises(AnabranchError, match="meters: 257: an owner has 256; cut fewer slices"):
        slices.tables([pair([6300 - 100, 100], to=to) for to in range(1, 6)], Ownership())


def test_bursts_are_twenty_milliseconds_and_two_frames_at_least() -> None:
    assert slices.burst_kb(100 * M) == 2000
    assert slices.burst_kb(1 * M) == 25  # 2 x 1518 bytes are 24.3 kbit
    assert slices.burst_kb(1 * M, frame_bytes=9018) == 145
    assert slices.burst_kb(100 * M, burst_s=0.005) == 500


def test_paths_without_a_slice_are_not_used() -> None:
    assert Cut().slices([(5 * M, False), (6 * M, False)]) is None
    assert Cut().slices([(0, False), (0, False)]) is None
    assert pair([1000, 0, 1000]).slices.path_of == (0, 2)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"label_bits": 7}, "label_bits: 7: a DSCP field has 1 to 6 bits"),
        ({"label_bits": 0}, "label_bits: 0"),
        ({"slice_min_bps": 10}, "slice_min: 10 bit/s: meters count in kbit/s"),
        ({"slice_max_bps": 5 * M}, "slice_max: 5000000 bit/s: below slice_min = 7000000"),
    ],
)
def test_limits_that_cannot_be_say_so(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        Cut(**limits)


def test_hosts_are_told_the_labels_of_their_leaf() -> None:
    prefixes = {"leaf0": ["10.1.0.0/24"], "leaf1": ["10.2.0.0/24"]}
    assert published([pair([1000, 500], known=9)], prefixes) == {
        "format": 1,
        "leaves": {
            "leaf0": {"prefixes": ["10.1.0.0/24"], "labels": {"10.2.0.0/24": [1, 2, 3]}},
            "leaf1": {"prefixes": ["10.2.0.0/24"], "labels": {}},
        },
    }
