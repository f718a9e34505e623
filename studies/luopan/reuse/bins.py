"""Balls into bins where samples serve several balls in turn: the model of the paper's appendix.

Each sample of so many bins serves a fixed number of balls, all of which go to the bin that had the least when it was
drawn. Trials stand in the place of seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.experiment_settings import check_whole_numbers, read_study
from anabranch.reproduce.backends.short_cells import ShortCellBackend
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

BEYOND_MEAN, EMPTY = Quantity("balls beyond the mean"), Quantity("empty bins")
BATCH = 4096
"""Samples drawn at a time."""


@dataclass(frozen=True)
class Settings:
    """Axes, and how often each cell is tried."""

    bins: tuple[int, ...]
    balls: tuple[int, ...]
    """Balls for each bin."""
    samples: tuple[int, ...]
    """Bins of a sample: d."""
    reuse: tuple[int, ...]
    """Balls of a sample: k. It divides the balls, or they are all of one sample's."""
    trials: int

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        for bins, balls, reuse in product(self.bins, self.balls, self.reuse):
            if bins * balls % reuse:
                raise AnabranchError(
                    f"settings.reuse: {reuse}: {balls} balls for each of {bins} bins are no whole number of samples; "
                    "give a divisor"
                )


@dataclass(frozen=True)
class ReuseStudy:
    """A study of samples that serve several balls, ready to run (`backend.Prepared`)."""

    group: Group
    expected: Expected
    settings: Settings
    quick_note: str

    announcement: Announcement | None = None

    def run(self, context: Context) -> CellEvidence:
        """Throws the balls of every cell in every trial."""
        del context
        axes = {name: list(getattr(self.settings, name)) for name in ("bins", "balls", "samples", "reuse")}
        cells = Cells(axes, list(range(1, self.settings.trials + 1)))
        for bins, balls, samples, reuse in product(*axes.values()):
            cell = cells.cell({"bins": bins, "balls": balls, "samples": samples, "reuse": reuse})
            thrown = reuse * _thrown(bins, bins * balls // reuse, samples, self.settings.trials)
            for trial, filled in enumerate(thrown, start=1):
                cells.numbers[cell, trial, BEYOND_MEAN] = float(filled.max() - balls)
                cells.numbers[cell, trial, EMPTY] = 100.0 * float((filled == 0).mean())
        return CellEvidence(cells, self.expected.figures)


def _thrown(bins: int, rounds: int, samples: int, trials: int) -> npt.NDArray[np.int64]:
    """Times that each bin was the least full of a sample, trials x bins; the first drawn of several that are."""
    source = np.random.default_rng([bins, rounds, samples])
    filled = np.zeros((trials, bins), np.int64)
    rows = np.arange(trials)
    for start in range(0, rounds, BATCH):
        drawn = source.integers(bins, size=(min(BATCH, rounds - start), samples, trials))
        if samples == 1:
            np.add.at(filled, (np.broadcast_to(rows, drawn[:, 0].shape), drawn[:, 0]), 1)
            continue
        for one in drawn:
            least = filled[rows, one].argmin(axis=0)
            filled[rows, one[least, rows]] += 1
    return filled


class Bins(ShortCellBackend):
    """Balls into bins: what it costs that a sample serves several balls."""

    quantities = (BEYOND_MEAN.name, EMPTY.name)

    def prepare(self, group: Group, quick: bool, output: Path) -> ReuseStudy:
        """Reads a study; it keeps nothing for later runs."""
        del output
        expected = load_expected(group.folder, quick, self.read_measure)
        settings, note = read_study(group.folder, Settings, quick)
        return ReuseStudy(group, expected, settings, note)
