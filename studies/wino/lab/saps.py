"""SAPS at the sender: virtual topologies of paths of one bandwidth, and a flow in one of them by its size.

The rule is the simulator's (`crates/balancers/src/saps`). The program that sends knows how long its flow is, as the
testbed's does, and tells the kernel by a mark on its socket which topology the flow is in; each direction draws for
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.deploy.marking.nftables import Marks
from anabranch.deploy.targets.plan.slices import Pair
from anabranch.lab.fabric.topology import Lab

THRESHOLD_BYTES = 10_000
"""Table I: 100 KB for web search, whose sizes are divided by ten, and 1000 KB for data mining, by a hundred."""
QUANTUM_BPS = 100_000
"""A hundredth of the simulator's default, as rates are."""
STREAM = 5
"""Purpose of the random numbers, beside the run's seed."""

Left = Callable[[str, str], int]
"""Bits per second that are left from a switch to its neighbour."""


@dataclass(frozen=True)
class Saps:
    """The topologies of every pair of leaves."""

    paths: Mapping[tuple[str, str], tuple[list[int], list[list[int]]]]
    """By leaves, what each path has left, and the labels of each topology, that of long flows first."""
    prefixes: Mapping[tuple[str, str], tuple[str, ...]]
    """Of the second leaf of each pair."""

    @classmethod
    def of(cls, pairs: Iterable[Pair], left_bps: Left) -> Saps:
        """The topologies of pairs whose slices are their paths, one each."""
        paths, prefixes = {}, {}
        for pair in pairs:
            leaves = pair.source, pair.destination
            nodes = [[*(switch for switch, _ in hops), pair.destination] for hops in pair.paths]
            residual = [min(left_bps(a, b) for a, b in pairwise(path)) for path in nodes]
            label_of = {path: label for label, path in zip(pair.slices.labels, pair.slices.path_of, strict=True)}
            topologies, _ = _core.virtual_topologies(residual, QUANTUM_BPS, THRESHOLD_BYTES, [])
            paths[leaves] = residual, [[label_of[path] for path in topology] for topology in topologies]
            prefixes[leaves] = pair.destination_prefixes
        return cls(paths, prefixes)

    def marks(self, leaf: str) -> Marks:
        """Labels for the hosts of a leaf, by the mark of a topology: its number, from 1."""
        rows = [
            (prefix, number, tuple(labels))
            for leaves, (_, topologies) in self.paths.items()
            for prefix in self.prefixes[leaves]
            for number, labels in enumerate(topologies, start=1)
            if leaves[0] == leaf
        ]
        return Marks(by_mark=tuple(rows))

    def marked(self, lab: Lab, flows: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Flows with the marks of both their ends."""
        leaf_of = [host.leaf for host in lab.hosts.values()]
        sizes = np.asarray(flows["size_bytes"]).astype(np.int64).tolist()
        draws = np.random.default_rng((seed, STREAM)).integers(1 << 32, size=(2, len(sizes))).tolist()
        ends = [np.asarray(flows[end]).astype(np.int64).tolist() for end in ("src", "dst")]
        forward, back = self._chosen(leaf_of, ends, sizes, draws[0]), self._chosen(leaf_of, ends[::-1], sizes, draws[1])
        return {**flows, "mark": forward, "back_mark": back}

    def _chosen(self, leaf_of: list[str], ends: list[list[int]], sizes: list[int], draws: list[int]) -> list[int]:
        """The mark of each flow in one direction, 0 where there is no choice."""
        labels = []
        for source, target, size, draw in zip(*ends, sizes, draws, strict=True):
            known = self.paths.get((leaf_of[source], leaf_of[target]))
            if known is None:
                labels.append(0)
                continue
            _, (number,) = _core.virtual_topologies(known[0], QUANTUM_BPS, THRESHOLD_BYTES, [(size, draw)])
            labels.append(0 if number is None else number + 1)
        return labels
