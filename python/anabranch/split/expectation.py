"""The error that a plan leads to, over many traces like the one at hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.split.splitter import Hash, Splitter
from anabranch.split.stats.mape import independent_connections, mape_expected
from anabranch.split.trace import Trace


def expected_pct(splitter: Splitter, asked: npt.NDArray[np.float64], by: Hash, trace: Trace) -> float | None:
    """Expected MAPE of a technique under a perfect hash of this many bits, over the connections that it tells apart."""
    shares = splitter.shares()
    if shares is None or splitter.granularity != "stateless":
        return None
    results = by.all_keys()
    if results is not None:
        # So few results that the plan does not give each path its share of them.
        shares = np.bincount(splitter.pick(results), minlength=asked.size) / results.size
    return mape_expected(shares, asked, _independent(splitter, by, trace))


def _independent(splitter: Splitter, by: Hash, trace: Trace) -> int:
    """Number of connections that the technique places one by one: those of one slot, or of one key, go together."""
    table = splitter.table()
    if table is None or table.size >= 2**by.bits:
        return independent_connections(np.unique(trace.keys, return_counts=True)[1], 2**by.bits)
    slots = (trace.keys & np.uint64(0xFFFFFFFF)) % np.uint64(table.size)
    return independent_connections(np.bincount(slots.astype(np.int64)), table.size)
