"""Intervals of a run that goes on, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from anabranch.report.page.explore.fabric_shape import Carrier
from anabranch.report.page.explore.port_times import BYTES, PortTimes, times_of

BYTES_MAX = 1_200_000
"""Largest size of all intervals on their way to a page, before they become text."""
LEAST, MOST = 24, 2_000
"""Bounds of the number of intervals that are kept; the lower one holds for fabrics that are too large for the size."""


class Intervals:
    """The intervals so far; where there are too many, those that follow each other are joined, two by two.

    `epoch` counts how often that changed those that were kept before.
    """

    def __init__(self, carriers: Sequence[Carrier], intervals_max: int | None = None) -> None:
        self._carriers = carriers
        self._max = intervals_max or min(MOST, max(LEAST, BYTES_MAX // (BYTES * len(carriers))))
        nothing = np.zeros(0), np.zeros(0)
        self.times = PortTimes(*nothing, *(np.zeros((0, len(carriers))) for _ in range(3)))
        self.joined = 1
        """Number of recorded intervals in each of these; the last one may have fewer yet."""
        self.epoch = 0
        self._in_last = 0

    def add(self, ports: pl.DataFrame) -> None:
        """Adds the rows of further intervals, each of which has ended."""
        if ports.is_empty():
            return
        further = times_of(ports, self._carriers)
        # What each row has of recorded intervals, and so how many stand before it.
        weights = np.array([self.joined] * (len(self.times) - 1) + [self._in_last] * bool(len(self.times)), np.int64)
        weights = np.concatenate([weights, np.ones(len(further), np.int64)])
        before = np.cumsum(weights) - weights
        total = int(weights.sum())
        joined = self.joined
        while -(-total // joined) > self._max:
            joined *= 2
        firsts = np.unique(before // joined, return_index=True)[1]
        self.times = self.times.followed_by(further).joined(firsts)
        self._in_last = total - (len(self.times) - 1) * joined
        self.epoch += joined != self.joined
        self.joined = joined

    def replace(self, ports: pl.DataFrame) -> None:
        """Puts the rows of the whole run, now that it has ended, in place of what is kept."""
        epoch, in_place = self.epoch, Intervals(self._carriers, self._max)
        in_place.add(ports)
        self.__dict__.update(in_place.__dict__ | {"epoch": epoch + 1})
