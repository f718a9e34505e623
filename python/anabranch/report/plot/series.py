"""Series that one figure compares: a name and the flows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import line_style

LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class Series:
    """Flows of one run, or of one point of a study over all seeds."""

    label: str
    flows: pl.DataFrame | pl.LazyFrame


def add_legend(
    drawn: Figure,
    labels: Sequence[str],
    title: str = "",
    *,
    bars: bool = False,
    marks: Sequence[str] = (),
    first_style: int = 0,
) -> None:
    """Names the series above the axes, if there is more than one; `title` says what they differ in.

    With `marks` series are points, whose marks repeat in that order; `first_style` is the style of the first series.
    """
    if len(labels) < 2 and not first_style:
        return
    handles: list[Artist] = []
    for index, label in enumerate(labels, start=first_style):
        style = line_style(index)
        if bars:
            handles.append(Patch(color=style["color"], label=label))
        elif marks:
            mark = marks[index % len(marks)]
            handles.append(Line2D([], [], ls="", marker=mark, ms=5, color=style["color"], label=label))
        else:
            handles.append(Line2D([], [], lw=1.8, label=label, **style))
    put_legend(drawn, handles, title, most=LEGEND_COLUMNS, handlelength=1.2 if bars or marks else 2.6)


def put_legend(
    drawn: Figure, handles: Sequence[Artist], title: str = "", *, most: int = 5, handlelength: float = 2.0
) -> None:
    """Puts a legend above the axes, in as many columns as there is room for, `most` at most."""
    points = sheet().legend_points
    renderer = FigureCanvasAgg(drawn).get_renderer()
    for columns in range(min(most, len(handles)), 0, -1):
        legend = drawn.legend(
            handles=handles,
            loc="outside upper left",
            ncols=columns,
            frameon=False,
            fontsize=points,
            handlelength=handlelength,
            title=title or None,
            title_fontsize=points,
            alignment="left",
        )
        if columns == 1 or legend.get_window_extent(renderer).width <= drawn.bbox.width:
            return
        legend.remove()
