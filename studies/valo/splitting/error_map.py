"""Map of the error of WCMP's splits over VALO's: by the size of its table, and by the number of connections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from anabranch.report.plot import heat_map
from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import mape_expected

from .study import Study

TABLES = (8, 16, 24, 32, 64, 128, 256)
CONNECTIONS = (100, 1000, 10_000, 40_000, 120_000)
DRAWS = 200
"""Draws of weights, as the paper's."""


def error_ratio(study: Study, paths: int, entries: int, connections: int, draws: int = DRAWS) -> float:
    """Mean expected MAPE of WCMP over VALO's, both over the same random weights.

    The shares are those of the splitters' tables and gravities, and chance is exact (`mape_expected`): no connection
    is drawn.
    """
    ((ratio,),) = _ratios(study, paths, [entries], [connections], draws)
    return ratio


def _ratios(
    study: Study, paths: int, tables: Sequence[int], connections: Sequence[int], draws: int
) -> list[list[float]]:
    """Ratios of `error_ratio`, a row for each number of connections."""
    stream = np.random.default_rng([study.seed, paths])
    low, high = study.weight_range
    weights = stream.integers(low, high + 1, size=(draws, paths)).tolist()
    of_valo = _errors(weights, None, connections)
    of_wcmp = [_errors(weights, entries, connections) for entries in tables]
    return [[errors[row] / valo for errors in of_wcmp] for row, valo in enumerate(of_valo)]


def _errors(weights: Sequence[Sequence[int]], entries: int | None, connections: Sequence[int]) -> list[float]:
    """Sums of expected MAPEs, one for each number of connections: of WCMP's table of so many entries, or of VALO."""
    splitters = (Splitter("wcmp", one, entries=entries) if entries else Splitter("valo", one) for one in weights)
    pairs = [(one.shares(), np.array(asked) / sum(asked)) for one, asked in zip(splitters, weights, strict=True)]
    return [
        sum(mape_expected(shares, asked, number) for shares, asked in pairs if shares is not None)
        for number in connections
    ]


def draw(study: Study, paths: int) -> Figure:
    """The map at one number of paths."""
    tables = [entries for entries in TABLES if entries >= paths]
    ratios = _ratios(study, paths, tables, CONNECTIONS, DRAWS)
    names = [str(entries) for entries in tables], [f"{connections:,}" for connections in CONNECTIONS]
    return heat_map.draw(ratios, *names, ("entries of WCMP's table", "connections"))
