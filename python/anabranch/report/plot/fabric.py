"""Drawing of a fabric: tiers, links, links that fail or slow down, and the load of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from anabranch.files.units import count
from anabranch.report.plot.fabric_boxes import Box
from anabranch.report.plot.fabric_changes import draw_changes
from anabranch.report.plot.fabric_geometry import (
    BOTTOM,
    BOX_INCHES,
    HOST_INCHES,
    NAME_INCHES,
    Drawing,
    Point,
    link_lines,
)
from anabranch.report.plot.fabric_layout import layout
from anabranch.report.plot.heat import STOPS
from anabranch.report.plot.sheet import PAGE, sheet
from anabranch.report.plot.style import FAINT, INK, figure
from anabranch.simulate.stats.tiers import rates, switches, tier_counts, tier_links

HEAT = LinearSegmentedColormap.from_list("heat", STOPS)
LINK, LINK_IN_CROWD = "#9aa5b1", "#bcc6d0"

ROOMY_INCHES = 0.3
"""Width of a box above which names have their usual size."""
CROWDED = 0.3
"""Width of lines in a crowded drawing, as a fraction of the usual width."""


def draw(topology: Mapping[str, Any], utilization: npt.NDArray[np.float64] | None = None) -> Figure:
    """Draws the fabric; with `utilization`, a fraction per port, each half of a link has the colour of its own port.

    Hosts are a count per leaf; most of many pods are drawn closed.
    """
    drawing = Drawing(layout(topology))
    height = drawing.height + (0.55 if utilization is not None else 0.0)
    with figure(height) as (drawn, axes):
        axes.set_xlim(0, drawing.across)
        axes.set_ylim(0, drawing.height)
        axes.set_aspect("equal")
        axes.axis("off")
        segments = link_lines(drawing, topology)
        _draw_links(axes, segments, topology, utilization)
        for index, box in enumerate(drawing.laid.boxes):
            hosts = drawing.laid.hosts_of.get(index, [])
            _draw_box(axes, drawing, box)
            if hosts:
                _draw_hosts(axes, drawing, box, hosts, topology, utilization)
        draw_changes(axes, drawing, topology, segments, over_heat=utilization is not None)
        _draw_labels(axes, drawing, topology)
        if utilization is not None:
            bar = drawn.colorbar(
                ScalarMappable(Normalize(0, 100), HEAT),
                ax=axes,
                orientation="horizontal",
                shrink=0.4,
                aspect=45,
                pad=0.02,
            )
            bar.outline.set_visible(False)
            words = "mean utilisation, %; each half of a link has the colour of the port at its end"
            # A line of a hundred characters of this size fills the page of a report.
            characters = int(100 * drawing.across / PAGE.width_inches)
            bar.set_label(fill(words, characters), fontsize=sheet().legend_points)
            bar.ax.tick_params(labelsize=sheet().tick_points, length=2)
    return drawn


def _draw_links(
    axes: Axes,
    lines: Mapping[int, tuple[Point, Point]],
    topology: Mapping[str, Any],
    utilization: npt.NDArray[np.float64] | None,
) -> None:
    rate = np.asarray(topology["ports"]["rate_bps"], dtype=np.float64)
    order = sorted(lines, key=lambda port: (0.0 if utilization is None else utilization[port], port))
    # Hundreds of crossing lines are drawn thin and pale, so that their pattern stays visible.
    crowd = min(1.0, max(0.18, (60 / max(1, len(lines))) ** 0.5))
    fastest = max((rate[port] for port in lines), default=1.0)
    widths = [crowd * (0.5 + 1.7 * np.sqrt(rate[port] / fastest)) for port in order]
    halves = [(lines[port][0], _middle(lines[port])) for port in order]
    plain = LINK if crowd > CROWDED else LINK_IN_CROWD
    colours = [plain if utilization is None else HEAT(float(utilization[port])) for port in order]
    axes.add_collection(LineCollection(halves, colors=colours, linewidths=widths, capstyle="butt", zorder=1))


def _middle(line: tuple[Point, Point]) -> Point:
    return ((line[0][0] + line[1][0]) / 2, (line[0][1] + line[1][1]) / 2)


def _draw_box(axes: Axes, drawing: Drawing, box: Box) -> None:
    x, width, low = drawing.x(box), drawing.width(box), drawing.y(box.row) - BOX_INCHES / 2
    _rectangle(axes, x, low, width, drawing.top(box) - low, "#ffffff" if box.rows == 1 else "#f5f7fa", INK, 2)
    middle = (low + drawing.top(box)) / 2
    if box.rows > 1:
        axes.text(x, middle, f"pod {box.name}", ha="center", va="center", fontsize=7.5, rotation=90, zorder=4)
    else:
        _name(axes, x, middle, box.name, width, 6)


def _draw_hosts(
    axes: Axes,
    drawing: Drawing,
    box: Box,
    hosts: Sequence[int],
    topology: Mapping[str, Any],
    utilization: npt.NDArray[np.float64] | None,
) -> None:
    """Draws all hosts of a switch as one box, their links as one line with the colour of the mean."""
    x, width = drawing.x(box), drawing.width(box)
    low, high = BOTTOM + HOST_INCHES, drawing.y(box.row) - BOX_INCHES / 2
    up: Any = LINK
    down: Any = LINK
    if utilization is not None:
        mine = set(hosts)
        ports = [port for port, source in enumerate(topology["ports"]["from"]) if source in mine]
        up = HEAT(float(utilization[ports].mean()))
        down = HEAT(float(utilization[[topology["ports"]["reverse"][port] for port in ports]].mean()))
    middle = (low + high) / 2
    line_width = 1.0 if utilization is None else 2.0
    axes.plot([x, x], [low, middle], color=up, lw=line_width, zorder=1, solid_capstyle="butt")
    axes.plot([x, x], [middle, high], color=down, lw=line_width, zorder=1, solid_capstyle="butt")
    _rectangle(axes, x, BOTTOM, width, HOST_INCHES, "#eef2f6", FAINT, 2)
    _name(axes, x, BOTTOM + HOST_INCHES / 2, str(len(hosts)), width, 5.5)


def _name(axes: Axes, x: float, y: float, text: str, width: float, small: float) -> None:
    """Writes into a box, if there is room for letters of a size that the sheet allows."""
    if width > ROOMY_INCHES or (width >= NAME_INCHES and sheet().small_names):
        size = 7.5 if width > ROOMY_INCHES else small
        axes.text(x, y, text, ha="center", va="center_baseline", fontsize=size, zorder=4)


def _rectangle(
    axes: Axes, x: float, low: float, width: float, height: float, face: str, edge: str, zorder: float
) -> None:
    rounding = min(0.05, width / 4)
    style = f"round,pad=0,rounding_size={rounding}"
    axes.add_patch(
        FancyBboxPatch((x - width / 2, low), width, height, boxstyle=style, fc=face, ec=edge, lw=0.8, zorder=zorder)
    )


def _draw_labels(axes: Axes, drawing: Drawing, topology: Mapping[str, Any]) -> None:
    counts = tier_counts(topology)
    hosts_y = BOTTOM + HOST_INCHES / 2
    heights = {"host": hosts_y} | drawing.tier_heights()
    for name, y in heights.items():
        words = f"{count(counts[name])} {switches(name, counts)}"
        axes.text(0.02, y, words, va="center", fontsize=sheet().label_points, weight="bold")
    for links in tier_links(topology):
        if links.low == links.high and not drawing.laid.ring:
            continue
        # Links of network cards are drawn from the server. Those that stay in a tier are told below its name.
        low = "server" if links.low == "host" and links.high != "server" and "server" in heights else links.low
        y = (heights[low] + heights[links.high]) / 2 - (0.22 if links.low == links.high else 0.0)
        lines = [f"{count(links.links)} x {rates(links.rates_bps)}"]
        if links.oversubscription is not None and links.oversubscription > 1.005:
            lines.append(f"over-subscribed {links.oversubscription:.3g} : 1")
        axes.text(0.02, y, "\n".join(lines), va="center", fontsize=sheet().tick_points, color=FAINT, linespacing=1.35)
