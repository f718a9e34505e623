"""The hashes by which Open vSwitch chooses, over many connections at once: one way for each of its recipes.

`selection.py` explains the same choices step by step; a test compares the two on a capture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.splitter import Splitter
from anabranch.targets.ovs.symmetric_hash import symmetric_hash
from anabranch.targets.plan.explanation import is_untyped, untyped
from anabranch.targets.plan.recipe import OwnHash
from anabranch.tuples import flow_keys, tuple_bytes

USERSPACE = "in Open vSwitch's userspace datapath; the kernel's hashes otherwise, by a seed drawn at boot"
EVERYWHERE = "in Open vSwitch without a CRC-32C instruction, such as Debian's"
BATCH = 1 << 14
"""Connections scored at once: each has as many scores as there are buckets, in memory."""


def by_slots(
    buckets: Sequence[tuple[int, int]], up: Sequence[bool], sizing: Mapping[str, int], parameter: int
) -> OwnHash:
    """`dp_hash`, algorithm 0: the slot of the hash, or the next slot of a living bucket.

    Args:
        buckets: (path from 0, weight).
        up: one flag per path.
        sizing: parameters of the technique `ovs-dp-hash` for a version of Open vSwitch.
        parameter: the low 32 bits are the basis.

    """
    owners = np.array([path for path, _ in buckets])
    weights, living = [weight for _, weight in buckets], [up[path] for path, _ in buckets]

    def paths(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
        marked = untyped(tuples)
        splitter = Splitter("ovs-dp-hash", weights, living, **sizing)
        picked = owners[splitter.pick(flow_keys(marked, "ovs-l4", parameter & 0xFFFFFFFF))]
        return np.where(is_untyped(marked), -1, picked)

    return OwnHash(paths, USERSPACE)


def by_score(weights: Sequence[int], up: Sequence[bool], parameter: int) -> OwnHash:
    """`hash`: the living bucket with the highest score; `parameter` has 64 bits."""
    live = [path for path, weight in enumerate(weights) if weight and up[path]]
    buckets, owners = [(path, weights[path]) for path in live], np.array(live)

    def paths(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
        rows = tuple_bytes(tuples)
        chosen = [
            best
            for begin in range(0, len(rows), BATCH)
            for _, _, best in _core.ovs_select(rows[begin : begin + BATCH], buckets, parameter)
        ]
        return owners[np.array(chosen, dtype=np.intp)]

    return OwnHash(paths, EVERYWHERE)


def by_rules(owners: npt.NDArray[np.intp], parameter: int) -> OwnHash:
    """The action `multipath` with `modulo_n`: the rule of the hash's slot; rules watch no port.

    Args:
        owners: path, from 0, of each slot.
        parameter: the low 16 bits are the basis.

    """

    def paths(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
        return owners[symmetric_hash(tuples, parameter & 0xFFFF) % len(owners)]

    return OwnHash(paths, EVERYWHERE)
