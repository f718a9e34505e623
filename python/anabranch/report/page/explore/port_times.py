"""Ports over time: utilisation, backlog and drops of each drawn half of a link, by interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.report.page.explore.fabric_shape import Carrier
from anabranch.report.page.explore.packed import pack

UTILIZATION_STEP = 1e-4
"""Steps in which utilisation is kept."""
COLUMNS = ("utilization", "backlog_max_bytes", "dropped_packets", "lost_packets")
BYTES = 6
"""Bytes of a carrier and an interval, before they become text; drops are kept where there are any."""

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PortTimes:
    """Values of carriers by interval: times of shape (intervals,), the others of shape (intervals, carriers)."""

    starts_ns: Reals
    lengths_ns: Reals
    utilization: Reals
    backlog_bytes: Reals
    drops: Reals

    def __len__(self) -> int:
        return len(self.starts_ns)

    def __getitem__(self, part: slice) -> PortTimes:
        return PortTimes(
            self.starts_ns[part],
            self.lengths_ns[part],
            self.utilization[part],
            self.backlog_bytes[part],
            self.drops[part],
        )

    def followed_by(self, later: PortTimes) -> PortTimes:
        """These intervals and later ones."""
        return PortTimes(
            np.concatenate([self.starts_ns, later.starts_ns]),
            np.concatenate([self.lengths_ns, later.lengths_ns]),
            np.concatenate([self.utilization, later.utilization]),
            np.concatenate([self.backlog_bytes, later.backlog_bytes]),
            np.concatenate([self.drops, later.drops]),
        )

    def joined(self, firsts: npt.NDArray[np.int64]) -> PortTimes:
        """Intervals joined from each of `firsts` to the next.

        Utilisation is their mean over time, backlog the largest, drops their sum.
        """
        if len(firsts) == len(self):
            return self
        lengths = np.add.reduceat(self.lengths_ns, firsts)
        busy = np.add.reduceat(self.utilization * self.lengths_ns[:, None], firsts)
        return PortTimes(
            self.starts_ns[firsts],
            lengths,
            busy / np.maximum(lengths, 1e-9)[:, None],
            np.maximum.reduceat(self.backlog_bytes, firsts),
            np.add.reduceat(self.drops, firsts),
        )

    def packed(self, joined: int) -> dict[str, Any]:
        """Values as `scripts/unpack.js` reads them; `drops` has the positions and the values of those that are not 0.

        `joined` is the number of recorded intervals that one of these is at most.
        """
        positions = np.flatnonzero(self.drops)
        return {
            "start_ns": pack(self.starts_ns, "f8"),
            "length_ns": pack(self.lengths_ns, "f8"),
            "joined": joined,
            "utilization": pack(np.minimum(np.round(self.utilization / UTILIZATION_STEP), 65_535), "u2"),
            "utilization_step": UTILIZATION_STEP,
            "backlog": pack(np.round(self.backlog_bytes), "u4"),
            "drops": {"positions": pack(positions, "u4"), "values": pack(self.drops.ravel()[positions], "u4")},
        }


def times_of(ports: pl.DataFrame, carriers: Sequence[Carrier]) -> PortTimes:
    """Values of all intervals of a table of ports."""
    starts, index = np.unique(ports["start_ns"].to_numpy(), return_inverse=True)
    number = ports["port"].to_numpy().astype(np.int64)
    shape = (len(starts), 1 + max([*(port for one in carriers for port in one.ports), *number.tolist()]))
    lengths = np.zeros(len(starts))
    lengths[index] = ports["length_ns"].to_numpy()
    # A lab cannot tell at which port a packet was lost.
    known = [ports[column] if column in ports.columns else pl.zeros(ports.height, eager=True) for column in COLUMNS]
    by_port = [_scattered(shape, index, number, values) for values in known]
    return PortTimes(
        starts,
        lengths,
        np.stack([by_port[0][:, one.ports].mean(axis=1) for one in carriers], axis=1),
        np.stack([by_port[1][:, one.ports].max(axis=1) for one in carriers], axis=1),
        np.stack([(by_port[2] + by_port[3])[:, one.ports].sum(axis=1) for one in carriers], axis=1),
    )


def port_times(ports: pl.DataFrame, carriers: Sequence[Carrier], intervals_max: int) -> dict[str, Any]:
    """Values of a table of ports for the page; beyond `intervals_max`, intervals that follow each other are joined."""
    times = times_of(ports, carriers)
    intervals = min(len(times), intervals_max)
    firsts = np.unique(np.arange(intervals) * len(times) // intervals)
    return times.joined(firsts).packed(int(np.diff([*firsts, len(times)]).max()))


def _scattered(
    shape: tuple[int, int], index: npt.NDArray[np.int64], port: npt.NDArray[np.int64], values: pl.Series
) -> Reals:
    """Matrix of intervals and ports; a port without a row in an interval has zeros there."""
    grid = np.zeros(shape)
    grid[index, port] = np.nan_to_num(values.cast(pl.Float64).to_numpy())
    return grid
