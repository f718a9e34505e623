"""Desired and measured split, path by path."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from anabranch.report.plot.style import FAINT, INK, figure
from anabranch.split.job import Result
from anabranch.split.stats.mape import path_errors

PATHS_NUMBERED = 12
"""Largest number of paths for which every cell shows its number."""

COLOUR_END_PCT = 20.0


def draw(result: Result) -> Figure:
    """Draws a cell per technique and path: connections against desired ones, in percent of the desired."""
    outcomes = result.techniques
    errors = np.array([path_errors(outcome.asked, outcome.got_connections) for outcome in outcomes])
    paths = errors.shape[1]
    width = min(9.0, 2.6 + 1.1 * paths)
    with figure(1.0 + 0.26 * len(outcomes), width) as (drawn, axes):
        axes.imshow(np.nan_to_num(errors), cmap="PuOr", vmin=-COLOUR_END_PCT, vmax=COLOUR_END_PCT, aspect="auto")
        axes.set_yticks(np.arange(len(outcomes)), [outcome.label for outcome in outcomes])
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if paths > PATHS_NUMBERED:
            axes.set_xticks([])
            axes.set_xlabel(f"paths 1 to {paths}", color=FAINT)
            return drawn
        asked = [f"path {path}\n{100 * share:.1f} %" for path, share in enumerate(outcomes[0].asked, 1)]
        axes.set_xticks(np.arange(paths), asked)
        for (row, path), error in np.ndenumerate(errors):
            text = "-" if np.isnan(error) else f"{error:+.1f}" if abs(error) < 100 else f"{error:+.0f}"
            colour = "white" if abs(error) > 0.7 * COLOUR_END_PCT else INK
            axes.text(path, row, text, ha="center", va="center", fontsize=8, color=colour)
    return drawn
