"""The hashes by which Open vSwitch chooses, over many connections at once: one way for each of its recipes.

`selection.py` explains the same choices step by step; a test compares the two on a capture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.deploy.targets.ovs.headers import (
    AUTHENTICATION,
    FRAGMENT,
    as_read,
    is_misread_by_l4,
    is_no_ip,
    is_unknown_to_l4,
)
from anabranch.deploy.targets.ovs.symmetric_hash import add, finished, symmetric_hash
from anabranch.deploy.targets.plan.captured import AUTHENTICATED, FIRST_FRAGMENT, LATER_FRAGMENT, has, without_headers
from anabranch.deploy.targets.plan.explanation import untyped
from anabranch.deploy.targets.plan.recipe import OUTSIDE, UNKNOWN, OwnHash
from anabranch.split.splitter import Splitter
from anabranch.split.tuples import flow_keys, tuple_bytes

USERSPACE = "in Open vSwitch's userspace datapath; the kernel's hashes otherwise, by a seed drawn at boot"
EVERYWHERE = "in Open vSwitch without a CRC-32C instruction, such as Debian's"
DP_HASHES = ("ovs-l4", "ovs-sym-l4")
"""Hashes of dp_hash by the number of their algorithm in the high half of selection_method_param."""
BATCH = 1 << 14
"""Connections scored at once: each has as many scores as there are buckets, in memory."""


def selected(
    tuples: npt.NDArray[np.void], buckets: Sequence[tuple[int, int]], parameter: int
) -> list[tuple[int, list[tuple[int, int]], int]]:
    """Basis, values and scores, and index of the bucket of each connection under `selection_method=hash`."""
    read, later = as_read(tuples), has(tuples, LATER_FRAGMENT)
    return _core.ovs_select(tuple_bytes(without_headers(read)), later.tolist(), list(buckets), parameter)


def dp_hashes(tuples: npt.NDArray[np.void], algorithm: int, basis: int) -> npt.NDArray[np.uint64]:
    """The hash of each connection under `dp_hash`."""
    read = as_read(tuples)
    keys = flow_keys(without_headers(read), DP_HASHES[algorithm], basis)
    if DP_HASHES[algorithm] == "ovs-l4":
        return np.where(is_misread_by_l4(read), _behind_extension(read, basis), keys).astype(np.uint64)
    # Fragments of TCP and SCTP have no ports there either, and UDP never has.
    return np.where(has(read, FIRST_FRAGMENT, LATER_FRAGMENT), symmetric_hash(read, basis), keys).astype(np.uint64)


def _behind_extension(read: npt.NDArray[np.void], basis: int) -> npt.NDArray[np.uint32]:
    """`dp_hash` L4 of TCP and UDP behind one extension header of IPv6: its number stands in the protocol's place.

    `dp_packet_update_rss_hash_ipv6_tcp_udp` of lib/dp-packet.h takes the fixed header's next header, and the ports.
    """
    ends = np.concatenate([read["source"], read["destination"]], axis=1)
    ports = np.stack([read["source_port"], read["destination_port"]], axis=1).astype(">u2")
    first = np.where(has(read, AUTHENTICATED), AUTHENTICATION, FRAGMENT).astype(np.uint32)
    hashes = np.zeros(len(read), np.uint32)
    for word in (*np.ascontiguousarray(ends).view("<u4").T, first, *ports.view("<u4").T):
        hashes = add(hashes, word.astype(np.uint32))
    hashed = finished(hashes ^ np.uint32(42))
    zero, based = np.zeros(len(read), np.uint32), np.full(len(read), basis, np.uint32)
    return finished(add(add(hashed, zero), based) ^ np.uint32(8))


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
        picked = owners[splitter.pick(dp_hashes(marked, 0, parameter & 0xFFFFFFFF))]
        return _inside(tuples, np.where(is_unknown_to_l4(marked), UNKNOWN, picked))

    return OwnHash(paths, USERSPACE)


def by_score(weights: Sequence[int], up: Sequence[bool], parameter: int) -> OwnHash:
    """`hash`: the living bucket with the highest score; `parameter` has 64 bits."""
    live = [path for path, weight in enumerate(weights) if weight and up[path]]
    buckets, owners = [(path, weights[path]) for path in live], np.array(live)

    def paths(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
        chosen = [
            best
            for begin in range(0, len(tuples), BATCH)
            for _, _, best in selected(tuples[begin : begin + BATCH], buckets, parameter)
        ]
        return _inside(tuples, owners[np.array(chosen, dtype=np.intp)])

    return OwnHash(paths, EVERYWHERE)


def by_rules(owners: npt.NDArray[np.intp], parameter: int) -> OwnHash:
    """The action `multipath` with `modulo_n`: the rule of the hash's slot; rules watch no port.

    Args:
        owners: path, from 0, of each slot.
        parameter: the low 16 bits are the basis.

    """

    def paths(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
        return _inside(tuples, owners[symmetric_hash(as_read(tuples), parameter & 0xFFFF) % len(owners)])

    return OwnHash(paths, EVERYWHERE)


def _inside(tuples: npt.NDArray[np.void], paths: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The paths, but for packets that match no rule for IP."""
    return np.where(is_no_ip(tuples), OUTSIDE, paths)
