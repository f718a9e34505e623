"""Open vSwitch's hash `symmetric_l3l4+udp`, by which the action `multipath` chooses a slot.

`flow_hash_symmetric_l3l4` of lib/flow.c with UDP ports, without which it is `ovs-sym-l4`; as in builds without a
CRC-32C instruction, such as Debian's. Pinned to a running switch by the tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.captured import FIRST_FRAGMENT, LATER_FRAGMENT, has
from anabranch.split.tuples import PROTOCOLS

PORTED = tuple(PROTOCOLS[name] for name in ("tcp", "udp", "sctp"))
Words = npt.NDArray[np.uint32]


def symmetric_hash(tuples: npt.NDArray[np.void], basis: int) -> Words:
    """The hash of each connection, shape (n,); both directions have the same.

    Args:
        tuples: dtype `FIVE_TUPLE` or `CAPTURED`, shape (n,); of fragments it skips the ports.
        basis: 32 bits.

    """
    ends = tuples["source"] ^ tuples["destination"]
    words = np.ascontiguousarray(ends).view("<u4").astype(np.uint32)
    values = np.full(len(tuples), basis, np.uint32)
    for index in range(words.shape[1]):
        # An IPv4 address has one word; the others are skipped, not hashed as zeros.
        values = np.where((tuples["version"] == 6) | (index == 0), add(values, words[:, index]), values)
    values = add(values, tuples["protocol"].astype(np.uint32))
    # Ports are in network byte order, read as little-endian numbers.
    ports = (tuples["source_port"] ^ tuples["destination_port"]).astype(">u2").view("<u2").astype(np.uint32)
    ported = np.isin(tuples["protocol"], PORTED) & ~has(tuples, FIRST_FRAGMENT, LATER_FRAGMENT)
    values = np.where(ported, add(values, ports), values)
    return finished(values ^ np.uint32(basis))


def add(values: Words, word: Words) -> Words:
    """Murmur3's step."""
    mixed = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    added: Words = _rotated(values ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    return added


def _rotated(word: Words, by: int) -> Words:
    rotated: Words = (word << np.uint32(by)) | (word >> np.uint32(32 - by))
    return rotated


def finished(values: Words) -> Words:
    """Murmur3's end."""
    values = (values ^ values >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    values = (values ^ values >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed: Words = values ^ values >> np.uint32(16)
    return mixed
