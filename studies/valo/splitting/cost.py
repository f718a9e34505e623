"""Cost of a decision: by load and by number of paths (Fig. 11 to 13), and while weights change (Fig. 14).

Throughput is that of batches, latency that of decisions each of which waits for the one before; hashing the packet is
in neither. Every repetition is kept: medians are reported, between the least and the most. Each repetition goes over
everything that is compared, so that a clock that rises or falls meanwhile does so for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.split.request import Choice
from anabranch.split.splitter import Splitter

from .connections import Pool, draw_weights, stream
from .study import Study

Keys = npt.NDArray[np.uint64]
LATENCY_PACKETS = 8192
PASSES = 5
"""Passes of a repetition, of which the fastest counts: they take a fraction of a millisecond, and what interrupts one
only adds to it."""


@dataclass(frozen=True)
class Cost:
    """One technique at one load and number of paths."""

    technique: str
    paths: int
    connections: int
    packets: int
    """Packets that were timed."""
    throughput_runs_ns: tuple[float, ...]
    latency_runs_ns: tuple[float, ...]
    state_bytes: int

    @property
    def throughput_ns(self) -> float:
        """Median of the repetitions."""
        return float(np.median(self.throughput_runs_ns))

    @property
    def latency_ns(self) -> float:
        """Median of the repetitions."""
        return float(np.median(self.latency_runs_ns))


@dataclass(frozen=True)
class ChangeCost:
    """One technique while weights change; nanoseconds per packet are averages over a second of traffic."""

    technique: str
    per_second: int
    plan_ns_per_change: float
    latency_runs_ns: tuple[float, ...]
    """Per packet, its share of planning included."""
    busy_runs_ns: tuple[float, ...]

    @property
    def latency_ns(self) -> float:
        """Median of the repetitions."""
        return float(np.median(self.latency_runs_ns))

    @property
    def busy_ns_per_second(self) -> float:
        """Median of the repetitions."""
        return float(np.median(self.busy_runs_ns))


def is_list(technique: Choice) -> bool:
    """Whether a decision scans a linear list."""
    return ("cache", "list") in technique.parameters


def planned(technique: Choice, weights: list[int]) -> Splitter:
    """A splitter for `technique`."""
    return Splitter(technique.name, weights, None, **dict(technique.parameters))


class List:
    """The linear list of the published WRR with all connections of the largest load, filled once."""

    def __init__(self, study: Study, pool: Pool) -> None:
        self._loads = sorted({*study.cost.connections, study.cost.paths_connections})
        self.keys = pool.keys(pool.rows(self._loads[-1], 0, "cost"), 0)
        technique = next(choice for choice in study.cost.techniques if is_list(choice))
        # A known connection is found without a look at the weights, so one plan serves every number of paths.
        self.splitter = planned(technique, draw_weights(study, max(study.cost.paths), 0, "cost"))
        self.bytes_at: dict[int, int] = {}

    def fill(self) -> None:
        """Appends the connections; takes time in the square of their number."""
        at = 0
        for load in self._loads:
            self.splitter.pick(self.keys[at:load])
            self.bytes_at[load], at = self.splitter.state_bytes, load


@dataclass(frozen=True)
class _Timed:
    """What is timed for one `Cost`."""

    technique: str
    paths: int
    connections: int
    splitter: Splitter
    packets: Keys
    state_bytes: int


def by_load_and_paths(study: Study, filled: List, report: Callable[[], None]) -> tuple[list[Cost], list[Cost]]:
    """Cost by load at four paths, and by number of paths at one load."""
    asked = study.cost
    loads = [_timed(study, choice, 4, load, filled) for load in asked.connections for choice in asked.techniques]
    paths = [
        _timed(study, choice, count, asked.paths_connections, filled)
        for count in asked.paths
        for choice in asked.techniques
    ]
    return _costs(loads, asked.repetitions, report), _costs(paths, asked.repetitions, report)


def _timed(study: Study, technique: Choice, paths: int, connections: int, filled: List) -> _Timed:
    asked = study.cost
    present = filled.keys[:connections]
    listed = is_list(technique)
    if listed:
        splitter = filled.splitter
        state_bytes = filled.bytes_at[connections]
    else:
        splitter = planned(technique, draw_weights(study, paths, 0, "cost"))
        splitter.pick(present)
        state_bytes = splitter.state_bytes
    packets = asked.packets_list if listed else asked.packets
    sample = _evenly(present, packets, stream(study.seed, "packets", paths, connections))
    return _Timed(technique.label, paths, connections, splitter, sample, state_bytes)


def _costs(timed: list[_Timed], repetitions: int, report: Callable[[], None]) -> list[Cost]:
    throughput_ns, latency_ns = np.empty((2, len(timed), repetitions))
    for repetition in range(repetitions):
        for row, one in enumerate(timed):
            throughput_ns[row, repetition] = one.splitter.time_pick(one.packets, repetitions=PASSES).min()
            first = one.packets[:LATENCY_PACKETS]
            latency_ns[row, repetition] = one.splitter.time_chain(first, repetitions=PASSES).min()
        report()
    return [
        Cost(
            one.technique,
            one.paths,
            one.connections,
            one.packets.size,
            tuple(map(float, throughput_ns[row])),
            tuple(map(float, latency_ns[row])),
            one.state_bytes,
        )
        for row, one in enumerate(timed)
    ]


def _evenly(present: Keys, packets: int, rng: np.random.Generator) -> Keys:
    """Packets of connections drawn at random, but one from each of `packets` equal stretches of the arrivals.

    A linear list's cost depends on the place of the connection, so stratifying leaves little to chance.
    """
    places = ((np.arange(packets) + rng.random(packets)) * (present.size / packets)).astype(np.int64)
    return rng.permutation(present[places])


def while_changing(study: Study, pool: Pool, report: Callable[[], None]) -> list[ChangeCost]:
    """A second of traffic at each rate of changes; connections are known before it begins."""
    asked = study.changes
    present = pool.keys(pool.rows(asked.connections, 0, "changes"), 0)
    costs = []
    for per_second in asked.per_second:
        rng = stream(study.seed, "changes", per_second)
        packets = present[rng.integers(0, present.size, asked.packets_per_second)]
        weights = [draw_weights(study, asked.paths, number, "changes", per_second) for number in range(per_second)]
        runs = [
            [_changing(technique, present, packets, weights) for technique in asked.techniques]
            for _ in range(study.cost.repetitions)
        ]
        for technique, own in zip(asked.techniques, zip(*runs, strict=True), strict=True):
            costs.append(
                ChangeCost(
                    technique.label,
                    per_second,
                    float(np.median([plan_ns for plan_ns, _ in own])) / per_second,
                    tuple((plan_ns + pick_ns) / packets.size for plan_ns, pick_ns in own),
                    tuple(plan_ns + pick_ns for plan_ns, pick_ns in own),
                )
            )
        report()
    return costs


def _changing(technique: Choice, present: Keys, packets: Keys, weights: list[list[int]]) -> tuple[float, float]:
    """Nanoseconds of planning and of picking."""
    splitter = planned(technique, weights[0])
    splitter.pick(present)
    return splitter.time_changes(packets, weights)
