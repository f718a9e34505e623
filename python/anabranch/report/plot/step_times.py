"""Time of each step of workload graphs, job by job, with the moments at which the fabric changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch.report.plot.series import add_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import ACCENT, FAINT, FLOOR, GRID, leaders, line_style, panels
from anabranch.simulate.stats.moments import Moment

NS_PER_MS = 1e6


@dataclass(frozen=True)
class Spans:
    """Steps of one job in one run, those that ended, by their start; times in nanoseconds."""

    start_ns: Sequence[float]
    time_ns: Sequence[float]


@dataclass(frozen=True)
class Steps:
    """Steps of one job in the runs of one series."""

    label: str
    seeds: Sequence[Spans]


@dataclass(frozen=True)
class JobPanel:
    """One job in each series."""

    title: str
    series: Sequence[Steps]
    ideal_ns: float | None
    """Least time of a step that any load balancer could reach."""
    moments: Sequence[Moment]


def draw(jobs: Sequence[JobPanel]) -> Figure:
    """Draws a panel for each job: a step stands over its own time, as high as it is long."""
    with panels(1, len(jobs), 0.9 * sheet().panel_inches, 0.5, sharex=True) as (drawn, (row,)):
        for job, axes in zip(jobs, row, strict=True):
            _panel(job, axes)
        for axes in leaders(row):
            axes.set_ylabel("step time, ms")
        drawn.supxlabel("time, ms", fontsize=sheet().label_points)
        add_legend(drawn, [one.label for one in jobs[0].series])
    return drawn


def _panel(job: JobPanel, axes: Axes) -> None:
    runs = [(line_style(index), run) for index, one in enumerate(job.series) for run in one.seeds]
    for style, run in runs:
        for start_ns, time_ns in zip(run.start_ns, run.time_ns, strict=True):
            span = [start_ns / NS_PER_MS, (start_ns + time_ns) / NS_PER_MS]
            axes.plot(span, [time_ns / NS_PER_MS] * 2, lw=1.8, color=style["color"], solid_capstyle="butt")
        middles = [(start + time / 2) / NS_PER_MS for start, time in zip(run.start_ns, run.time_ns, strict=True)]
        axes.plot(middles, [time / NS_PER_MS for time in run.time_ns], lw=0.7, marker="o", ms=3, **style)
    most = max((time for _, run in runs for time in run.time_ns), default=0.0) / NS_PER_MS
    axes.set_ylim(0.0, 1.25 * most or 1.0)
    if job.ideal_ns is not None:
        axes.axhline(job.ideal_ns / NS_PER_MS, color=ACCENT, lw=0.9, ls=(0, (4, 2)))
        _word(axes, "least possible", (1.0, job.ideal_ns / NS_PER_MS), ACCENT, ha="right", va="bottom")
    for number, moment in enumerate(job.moments):
        axes.axvline(moment.at_ns / NS_PER_MS, color=FLOOR, lw=1.0)
        # Words of neighbours stand in two lines, one below the other.
        place = (moment.at_ns / NS_PER_MS, 0.99 - 0.07 * (number % 2))
        right = moment.at_ns / NS_PER_MS > sum(axes.get_xlim()) / 2
        axes.annotate(
            moment.words,
            place,
            xycoords=("data", "axes fraction"),
            xytext=(-3 if right else 3, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            color=FLOOR,
            fontsize=sheet().legend_points - 1,
        )
    axes.set_title(job.title, fontsize=sheet().title_points, loc="left", color=FAINT)
    axes.tick_params(labelsize=sheet().tick_points)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)


def _word(axes: Axes, text: str, place: tuple[float, float], colour: str, **aligned: str) -> None:
    axes.annotate(
        text,
        place,
        xycoords=("axes fraction", "data"),
        color=colour,
        fontsize=sheet().legend_points - 1,
        **aligned,  # type: ignore[arg-type]
    )
