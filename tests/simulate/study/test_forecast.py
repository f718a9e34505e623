"""How long a study will take, told before it begins: speeds of cells that are tried for a moment."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.simulate.study import forecast
from anabranch.simulate.study.job import Job

CELL = cast(Job, SimpleNamespace(words="scheme ecmp, seed 1"))


class Counted:
    """Progress of a run of which nothing is run."""

    packet_hops = 0
    cancelled = False

    def cancel(self) -> None:
        """Ends it after this look."""
        self.cancelled = True


def looked_at(looks: list[tuple[int, float]], monkeypatch: pytest.MonkeyPatch, ended: Any = None) -> float | None:
    """Speed of a cell whose packet-hops and processor time are `looks`; `ended` is what its run yields after them."""

    def watched(_run: object, watch: Callable[[Counted], None]) -> object:
        progress = Counted()
        for hops, cpu_s in looks:
            progress.packet_hops = hops
            monkeypatch.setattr(forecast, "time", SimpleNamespace(process_time=lambda at=cpu_s: at))
            watch(progress)
            if progress.cancelled:
                raise KeyboardInterrupt
        if ended is None:
            raise KeyboardInterrupt
        return ended

    monkeypatch.setattr(forecast, "watched", watched)
    return forecast.tried(CELL)


def test_a_speed_begins_with_the_first_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds in which tables were built are no part of it, nor what is looked at after it was long enough."""
    looks = [(0, 1.0), (0, 2.0), (5_000, 3.0), (405_000, 3.25), (805_000, 3.5), (805_000, 9.0)]
    assert looked_at(looks, monkeypatch) == 1_600_000


def test_a_run_that_ends_is_known_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = SimpleNamespace(run=SimpleNamespace(totals={"packet_hops": 30_000}), cpu_s=0.25)
    assert looked_at([(0, 1.0), (20_000, 1.1)], monkeypatch, ended) == 120_000
    few = SimpleNamespace(run=SimpleNamespace(totals={"packet_hops": 999}), cpu_s=0.25)
    assert looked_at([], monkeypatch, few) is None


def test_the_user_may_end_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        looked_at([(0, 1.0)], monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        looked_at([(5_000, 1.0), (9_000, 1.1)], monkeypatch)
