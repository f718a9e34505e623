"""Steps before, during and after changes, on frames whose answers are known by hand."""

from __future__ import annotations

import polars as pl
import pytest

from anabranch.simulate.stats.moments import Moment, moments
from anabranch.simulate.stats.steps import phases

DOWN = Moment(100.0, "link down")
UP = Moment(300.0, "link up")


def frame(rows: list[tuple[int, float, float | None]]) -> pl.DataFrame:
    """Steps of one job, each with a collective of 8 B: step, start and end in nanoseconds."""
    made = []
    for step, start, end in rows:
        time = None if end is None else end - start
        for kind, bus in (("step", None), ("all-reduce", None if time is None else 64e9 / time)):
            made.append((0, step, kind, start, end, time, 2.0, bus))
    columns = ["job", "step", "kind", "start_ns", "end_ns", "time_ns", "straggler_ns", "bus_bps"]
    return pl.DataFrame(made, schema=columns, orient="row")


def test_a_step_belongs_to_the_change_that_falls_into_it() -> None:
    # One ends, and one begins, at the very time of the change: they do not meet it.
    steps = frame([(0, 0, 50), (1, 40, 100), (2, 90, 190), (3, 100, 220), (4, 290, 310), (5, 300, 400)])
    found = phases(steps, [DOWN, UP])
    assert [(one.when, one.steps, one.median_ns) for one in found] == [
        ("before", 2, 55.0),
        ("link down", 1, 100.0),
        ("after link down", 1, 120.0),
        ("link up", 1, 20.0),
        ("after link up", 1, 100.0),
    ]
    assert [one.cost for one in found] == [None, *(pytest.approx(time / 55) for time in (100, 120, 20, 100))]
    assert found[0].bus_bps == pytest.approx((64e9 / 50 + 64e9 / 60) / 2)
    assert found[1].straggler_ns == 2.0


def test_a_step_without_end_meets_the_next_change_and_has_no_time() -> None:
    found = phases(frame([(0, 0, 50), (1, 60, None)]), [DOWN])
    assert [(one.when, one.steps, one.unfinished, one.median_ns, one.cost) for one in found] == [
        ("before", 1, 0, 50.0, None),
        ("link down", 1, 1, None, None),
    ]
    late = phases(frame([(0, 0, 150), (1, 150, None)]), [DOWN])
    assert [(one.when, one.unfinished, one.cost) for one in late] == [
        ("link down", 0, None),
        ("after link down", 1, None),
    ]


def test_without_changes_there_is_one_phase() -> None:
    found = phases(frame([(0, 0, 50), (1, 50, 110)]), [])
    assert [(one.when, one.steps, one.median_ns, one.longest_ns) for one in found] == [("all", 2, 55.0, 60.0)]


def test_changes_of_one_time_are_one_moment_in_words() -> None:
    def change(what: str, at_ns: float, **of: float) -> dict[str, object]:
        return {"at_ns": at_ns, "what": what, "port": None, "node": None, "value": None, **of}

    topology = {
        "nodes": {"name": ["leaf0", "spine0", "spine1"]},
        "ports": {"from": [0, 1, 0, 2], "to": [1, 0, 2, 0]},
        "changes": [
            change("port_down", 0.0, port=0),
            change("port_down", 5e3, port=1),
            change("port_down", 5e3, port=0),
            change("port_rate", 5e3, port=2, value=25e9),
            change("node_up", 7e3, node=2),
            change("port_loss", 6e3, port=3, value=0.01),
        ],
    }
    assert moments(topology) == [
        Moment(5e3, "leaf0-spine0 down, leaf0-spine1 25 Gbps"),
        Moment(6e3, "leaf0-spine1 loss 1 %"),
        Moment(7e3, "spine1 up"),
    ]
