"""Intervals on their way to a live page: what the engine gives while it runs, and what is kept of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch._core import Progress, Scenario
from anabranch.report.live.intervals import Intervals
from anabranch.report.page.explore.fabric_shape import Carrier
from anabranch.report.page.explore.port_times import times_of
from support.small_scenario import SMALL

LINE = (0.0, 0.0, 0.0, 0.0)
CARRIERS = [Carrier([0], "a", LINE), Carrier([1, 2], "b", LINE)]


def rows(first: int, number: int) -> pl.DataFrame:
    """Intervals of three ports, all different, of unequal length."""
    found: list[dict[str, Any]] = []
    for interval in range(first, first + number):
        random = np.random.default_rng(interval)
        found += [
            {
                "port": port,
                "start_ns": 1000.0 * interval + (interval % 3),
                "length_ns": 1000.0 + (interval + 1) % 3 - interval % 3,
                "utilization": random.uniform(),
                "backlog_max_bytes": int(random.integers(1000)),
                "dropped_packets": int(random.integers(3)),
                "lost_packets": 0,
            }
            for port in range(3)
        ]
    return pl.DataFrame(found)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 9))
def test_kept_intervals_are_those_of_the_whole_joined(parts: list[int], most: int) -> None:
    """However they come, they are what joining all of them at once gives, and never more than the bound."""
    kept, begun = Intervals(CARRIERS, most), 0
    for number in parts:
        kept.add(rows(begun, number))
        begun += number
        whole = times_of(rows(0, begun), CARRIERS)
        assert len(kept.times) <= most < len(kept.times) * 2 + 1 or kept.joined == 1
        expected = whole.joined(np.arange(0, begun, kept.joined))
        assert kept.times.starts_ns.tolist() == expected.starts_ns.tolist()
        for name in ("lengths_ns", "utilization", "backlog_bytes", "drops"):
            assert getattr(kept.times, name) == pytest.approx(getattr(expected, name), rel=1e-9)


def test_a_change_of_what_was_kept_has_another_epoch() -> None:
    kept = Intervals(CARRIERS, 4)
    kept.add(rows(0, 4))
    assert (kept.epoch, kept.joined) == (0, 1)
    kept.add(rows(4, 1))
    assert (kept.epoch, kept.joined, len(kept.times)) == (1, 2, 3)
    kept.add(rows(5, 1))
    assert (kept.epoch, kept.joined, len(kept.times)) == (1, 2, 3)
    kept.replace(rows(0, 3))
    assert (kept.epoch, kept.joined, len(kept.times)) == (2, 1, 3)


def test_the_engine_gives_each_interval_once_and_in_order() -> None:
    """Taken as often as possible, the rows are those of the results."""
    text = SMALL.replace('"10 ms"', '"60 ms"').replace("load = 0.5", "load = 0.9") + '\ninterval = "20 us"\n'
    scenario, progress = Scenario(text, "small.toml"), Progress()
    done: list[Any] = []
    worker = threading.Thread(target=lambda: done.append(scenario.run(progress)), daemon=True)
    parts = [pl.DataFrame(scenario.take_ports(progress))]
    assert parts[0].is_empty()
    worker.start()
    while worker.is_alive():
        worker.join(0.002)
        parts.append(pl.DataFrame(scenario.take_ports(progress)))
    assert progress.flows_begun == progress.flows_total == progress.flows_finished
    whole = pl.DataFrame(done[0].ports)
    taken = pl.concat(parts)
    assert sum(not part.is_empty() for part in parts) > 2
    # What the run did after the last question stands only in its results.
    ports = whole["port"].n_unique()
    known = min(taken.height, whole.height - ports)
    assert known > whole.height / 2
    assert taken.head(known).equals(whole.head(known))
