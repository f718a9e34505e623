"""Ports over time: utilisation, backlog and drops of each drawn half of a link, by interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.report.explore.fabric_shape import Carrier
from anabranch.report.explore.packed import pack

UTILIZATION_STEP = 1e-4
"""Steps in which utilisation is kept."""
COLUMNS = ("utilization", "backlog_max_bytes", "dropped_packets", "lost_packets")
BYTES = 6
"""Bytes of a carrier and an interval, before they become text; drops are kept where there are any."""


def port_times(ports: pl.DataFrame, carriers: Sequence[Carrier], intervals_max: int) -> dict[str, Any]:
    """Values of shape (intervals, carriers): mean `utilization`, largest `backlog` in bytes, `drops` and losses.

    Beyond `intervals_max` intervals that follow each other are joined, `joined` at most: utilisation is their mean over
    time, backlog the largest, drops their sum. `drops` has the positions and the values of those that are not zero.
    """
    starts, index = np.unique(ports["start_ns"].to_numpy(), return_inverse=True)
    number = ports["port"].to_numpy().astype(np.int64)
    shape = (len(starts), 1 + max([*(port for one in carriers for port in one.ports), *number.tolist()]))
    lengths = np.zeros(len(starts))
    lengths[index] = ports["length_ns"].to_numpy()
    # A lab cannot tell at which port a packet was lost.
    known = [ports[column] if column in ports.columns else pl.zeros(ports.height, eager=True) for column in COLUMNS]
    by_port = [_scattered(shape, index, number, values) for values in known]
    busy = np.stack([by_port[0][:, one.ports].mean(axis=1) for one in carriers], axis=1)
    backlog = np.stack([by_port[1][:, one.ports].max(axis=1) for one in carriers], axis=1)
    drops = np.stack([(by_port[2] + by_port[3])[:, one.ports].sum(axis=1) for one in carriers], axis=1)
    firsts = np.unique(np.arange(min(len(starts), intervals_max)) * len(starts) // min(len(starts), intervals_max))
    time = np.add.reduceat(lengths, firsts)
    busy = np.add.reduceat(busy * lengths[:, None], firsts) / np.maximum(time, 1e-9)[:, None]
    backlog, drops = np.maximum.reduceat(backlog, firsts), np.add.reduceat(drops, firsts)
    positions = np.flatnonzero(drops)
    return {
        "start_ns": pack(starts[firsts], "f8"),
        "length_ns": pack(time, "f8"),
        "joined": int(np.diff([*firsts, len(starts)]).max()),
        "utilization": pack(np.minimum(np.round(busy / UTILIZATION_STEP), 65_535), "u2"),
        "utilization_step": UTILIZATION_STEP,
        "backlog": pack(np.round(backlog), "u4"),
        "drops": {"positions": pack(positions, "u4"), "values": pack(drops.ravel()[positions], "u4")},
    }


def _scattered(
    shape: tuple[int, int], index: npt.NDArray[np.int64], port: npt.NDArray[np.int64], values: pl.Series
) -> npt.NDArray[np.float64]:
    """Matrix of intervals and ports; a port without a row in an interval has zeros there."""
    found = np.zeros(shape)
    found[index, port] = np.nan_to_num(values.cast(pl.Float64).to_numpy())
    return found
