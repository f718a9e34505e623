"""Error by technique on a log axis, with the noise floor and its band."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from anabranch.files.units import pct
from anabranch.report.plot.style import FAINT, FLOOR, GRANULARITY_COLOURS, GRANULARITY_MARKS, GRID, figure
from anabranch.split.job import Result

LEAST_SHOWN_PCT = 0.001


def draw(result: Result) -> Figure:
    """Draws a row per technique, worst first: this trace's error as a mark, the plan's expected error as a stroke."""
    rows = sorted(result.techniques, key=lambda outcome: outcome.mape_pct)
    low, high, floor_pct = (max(error, LEAST_SHOWN_PCT) for error in (*result.floor_band_pct, result.floor_pct))
    with figure(1.3 + 0.27 * len(rows)) as (drawn, axes):
        axes.axvspan(low, high, color=FLOOR, alpha=0.12, lw=0)
        axes.axvline(floor_pct, color=FLOOR, lw=1.4)
        for y, outcome in enumerate(rows):
            if outcome.expected_pct is not None:
                axes.plot([outcome.expected_pct], [y], marker="|", ms=13, mew=2.2, color=FAINT, ls="", zorder=3)
            axes.plot(
                [max(outcome.mape_pct, LEAST_SHOWN_PCT)],
                [y],
                marker=GRANULARITY_MARKS[outcome.granularity],
                color=GRANULARITY_COLOURS[outcome.granularity],
                ms=6.5,
                ls="",
                zorder=4,
            )
            axes.annotate(
                pct(outcome.mape_pct),
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(34, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8.5,
            )
        axes.set_xscale("log")
        errors = [max(outcome.mape_pct, LEAST_SHOWN_PCT) for outcome in rows]
        axes.set_xlim(min([low, floor_pct / 3, *errors]) / 1.4, max([high, *errors]) * 1.4)
        axes.set_ylim(-0.8, len(rows) - 0.2)
        axes.set_yticks(np.arange(len(rows)), [outcome.label for outcome in rows])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", which="major", color=GRID)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("MAPE of connections, % (log scale)")
        axes.annotate(
            f"noise floor {pct(result.floor_pct)} %; band: 95 of 100 ideal splits",
            (floor_pct, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            color=FLOOR,
            fontsize=8.5,
        )
    return drawn
