"""Map of the error of WCMP's splits over VALO's: by the size of its table, and by the number of connections."""

from __future__ import annotations

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
    stream = np.random.default_rng([study.seed, paths])
    low, high = study.weight_range
    errors = np.zeros(2)
    for weights in stream.integers(low, high + 1, size=(draws, paths)).tolist():
        asked = np.array(weights) / sum(weights)
        splitters = Splitter("wcmp", weights, entries=entries), Splitter("valo", weights)
        shares = [one.shares() for one in splitters]
        errors += [mape_expected(known, asked, connections) for known in shares if known is not None]
    return float(errors[0] / errors[1])


def draw(study: Study, paths: int) -> Figure:
    """The map at one number of paths."""
    tables = [entries for entries in TABLES if entries >= paths]
    ratios = [[error_ratio(study, paths, entries, connections) for entries in tables] for connections in CONNECTIONS]
    names = [str(entries) for entries in tables], [f"{connections:,}" for connections in CONNECTIONS]
    return heat_map.draw(ratios, *names, ("entries of WCMP's table", "connections"))
