"""The paper's figures with our numbers, its stated numbers as open diamonds, and the floor or theory as a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch.files.units import pct
from anabranch.report.plot.style import FAINT, FLOOR, GRID, INK, figure
from anabranch.reproduce.claims.claim import Claim

from . import error_map
from .accuracy import Point
from .cost import ChangeCost, Cost
from .job import Outcome
from .measure import ValueMeasure

HALF_INCHES, HEIGHT_INCHES = 5.6, 3.5

SERIES: dict[str, tuple[str, str, str]] = {
    "random": ("random", "#9333a8", "o"),
    "wcmp:entries=24": ("WCMP, 24 entries", "#b7791f", "s"),
    "scoring": ("scoring", "#0f766e", "^"),
    "wrr:order=block": ("WRR, in blocks", "#7b8794", "v"),
    "wrr:order=block:cache=list": ("WRR, linear list", "#7b8794", "v"),
    "wrr": ("WRR, smooth", "#1f2933", "D"),
    "wrr:cache=table": ("WRR, hash table", "#1f2933", "D"),
    "valo": ("VALO", "#2563a8", "o"),
    "min-move": ("min-move table", "#db2777", "P"),
}
"""Label, colour and mark by technique; the two orders and the two caches of WRR share theirs."""


def draw(outcome: Outcome, claims: Sequence[Claim]) -> list[tuple[str, str, Figure]]:
    """Every figure as (file name, title, figure)."""
    measured, study = outcome.measured, outcome.study
    by_load, by_paths, changes = measured.cost_by_load, measured.cost_by_paths, measured.changes
    load, paths = measured.accuracy["load"], measured.accuracy["paths"]
    published = _published(claims)
    return [
        ("fig5a", "Fig. 5a: accuracy, four paths, 40,000 connections", _bars(outcome, published)),
        ("fig10a", "Fig. 10a: accuracy by trial, sorted", _trials(measured.accuracy["weights"][0], published)),
        ("fig10b", "Fig. 10b: accuracy by load", _sweep(load, _load, "connections", published["0.7"], False)),
        ("fig10c", "Fig. 10c: accuracy by number of paths", _sweep(paths, _count, "paths", published["0.8"], True)),
        ("small", "Sec. 6: 10 to 100 connections", _sweep(measured.accuracy["small"], _load, "connections", {}, False)),
        ("fig11a", "Fig. 11a: time per packet by load", _cost(by_load, _at_load, "connections", _busy_ns, CPU, [])),
        ("fig11b", "Fig. 11b: time per packet by paths", _cost(by_paths, _at_paths, "paths", _busy_ns, CPU, [])),
        (
            "fig12a",
            "Fig. 12a: latency by load",
            _cost(
                by_load, _at_load, "connections", _latency_us, LATENCY, [("wrr:order=block:cache=list", 120_000, 50.9)]
            ),
        ),
        (
            "fig12b",
            "Fig. 12b: latency by paths, means over paths marked",
            _cost(
                *(by_paths, _at_paths, "paths", _latency_us, LATENCY),
                [("wrr:order=block:cache=list", 8.4, 18.6), ("valo", 8.4, 1.5)],
            ),
        ),
        ("fig13a", "Fig. 13a: memory by load", _memory(study.cost.process_bytes, by_load, _at_load, "connections")),
        ("fig13b", "Fig. 13b: memory by paths", _memory(study.cost.process_bytes, by_paths, _at_paths, "paths")),
        ("fig14a", "Fig. 14a: time per second while weights change", _changes(changes, _busy_ms, BUSY, {})),
        ("fig14b", "Fig. 14b: latency while weights change", _changes(changes, _packet_us, LATENCY, CHANGING)),
        *((f"map{paths}", MAP.format(paths=paths), error_map.draw(study, paths)) for paths in (4, 8)),
    ]


MAP = "No figure of the paper: WCMP's expected error over VALO's, {paths} paths of random weights"
CPU = "throughput, ns per packet (log)"
LATENCY = "latency, us per packet (log)"
BUSY = "busy, ms per second (log)"
CHANGING = {"wrr:order=block:cache=list": 64.51, "valo": 7.6, "scoring": 7.3}


def _load(point: Point) -> float:
    return point.connections


def _count(point: Point) -> float:
    return point.paths


def _at_load(cost: Cost) -> float:
    return cost.connections


def _at_paths(cost: Cost) -> float:
    return cost.paths


def _busy_ns(cost: Cost) -> float:
    return cost.throughput_ns


def _latency_us(cost: Cost) -> float:
    return cost.latency_ns / 1000.0


def _busy_ms(cost: ChangeCost) -> float:
    return cost.busy_ns_per_second / 1e6


def _packet_us(cost: ChangeCost) -> float:
    return cost.latency_ns / 1000.0


def _published(claims: Sequence[Claim]) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """The paper's MAPEs by claim id and technique, as (point or empty, value)."""
    marks: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for claim in claims:
        measure = claim.measure
        if isinstance(measure, ValueMeasure) and measure.over is None and "/mean" in measure.of[0] and claim.low:
            label, _, at = measure.of[0].partition("/")[2].partition("/mean")
            marks.setdefault(claim.id, {}).setdefault(label, []).append((at.lstrip("@"), claim.low))
    return marks


def _dress(axes: Axes, y: str, x: str = "", y_log: bool = True) -> None:
    if y_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axes.minorticks_off()
    axes.grid(axis="y", which="major", color=GRID)
    axes.set_axisbelow(True)
    axes.set_ylabel(y)
    axes.set_xlabel(x)


def _legend(drawn: Figure) -> None:
    drawn.legend(loc="outside upper left", ncols=4, frameon=False, fontsize=7.5, handlelength=1.6, columnspacing=1.2)


def _mark(axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, label: str | None = None) -> None:
    """The paper's numbers."""
    axes.plot(x, y, ls="", marker="d", ms=9, mfc="white", mec=colour, mew=1.6, zorder=5, label=label, clip_on=False)


def _bars(outcome: Outcome, published: dict[str, dict[str, list[tuple[str, float]]]]) -> Figure:
    point = outcome.measured.accuracy["default"][0]
    labels = [label for label in SERIES if label in point.mapes]
    with figure(HEIGHT_INCHES, HALF_INCHES) as (drawn, axes):
        values = [float(point.mapes[label].mean()) for label in labels]
        axes.bar(range(len(labels)), values, width=0.6, color=[SERIES[label][1] for label in labels])
        for x, value in enumerate(values):
            axes.annotate(pct(value), (x, value), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8)
        stated = [(labels.index(label), marks[0][1]) for label, marks in published["0.1"].items() if label in labels]
        _mark(axes, [x + 0.42 for x, _ in stated], [y for _, y in stated], INK, "as the paper states")
        axes.axhline(
            float(point.floors.mean()), color=FLOOR, lw=1.4, label=f"floor {pct(float(point.floors.mean()))} %"
        )
        axes.set_xticks(range(len(labels)), [SERIES[label][0].replace(", ", ",\n") for label in labels], fontsize=7.5)
        axes.tick_params(axis="x", length=0)
        axes.margins(y=0.2)
        _dress(axes, "MAPE, % (log)")
        _legend(drawn)
    return drawn


def _trials(point: Point, published: dict[str, dict[str, list[tuple[str, float]]]]) -> Figure:
    labels = [label for label in SERIES if label in point.mapes]
    order = np.argsort(np.mean([point.mapes[label] for label in labels], axis=0), kind="stable")
    x = np.arange(1, order.size + 1)
    with figure(HEIGHT_INCHES, HALF_INCHES) as (drawn, axes):
        for label in labels:
            name, colour, _ = SERIES[label]
            axes.plot(x, np.maximum(point.mapes[label][order], 1e-3), color=colour, lw=1.1, label=name)
        axes.plot(x, point.floors[order], color=FLOOR, lw=1.4, label="floor")
        at = order.size * 1.04
        for label, marks in published["0.6"].items():
            if label in SERIES:
                _mark(axes, [at], [marks[0][1]], SERIES[label][1])
        _mark(axes, [], [], INK, "paper's mean")
        _dress(axes, "MAPE, % (log)", "trial, from the best on average to the worst")
        _legend(drawn)
    return drawn


def _sweep(
    points: Sequence[Point],
    place: Callable[[Point], float],
    x_label: str,
    published: dict[str, list[tuple[str, float]]],
    at_points: bool,
) -> Figure:
    """MAPE over the points; the paper's marks at their points, and its means over all right of the axis."""
    x = [place(point) for point in points]
    with figure(HEIGHT_INCHES, HALF_INCHES) as (drawn, axes):
        for label, (name, colour, mark) in SERIES.items():
            if label in points[0].mapes:
                y = [max(1e-3, float(point.mapes[label].mean())) for point in points]
                axes.plot(x, y, color=colour, marker=mark, ms=4.5, lw=1.2, label=name)
        axes.plot(x, [float(point.floors.mean()) for point in points], color=FLOOR, lw=1.4, label="floor", zorder=4)
        beyond = x[-1] + 0.06 * (x[-1] - x[0])
        for label, marks in published.items():
            if label in SERIES:
                _mark(axes, [float(at) if at else beyond for at, _ in marks], [v for _, v in marks], SERIES[label][1])
        if published:
            _mark(axes, [], [], INK, "paper: at a point, right: mean" if at_points else "paper: mean over loads")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _dress(axes, "MAPE, % (log)", x_label)
        _legend(drawn)
    return drawn


def _cost(
    costs: Sequence[Cost],
    place: Callable[[Cost], float],
    x_label: str,
    of: Callable[[Cost], float],
    y_label: str,
    stated: Sequence[tuple[str, float, float]],
) -> Figure:
    with figure(HEIGHT_INCHES, HALF_INCHES) as (drawn, axes):
        for label in dict.fromkeys(cost.technique for cost in costs):
            name, colour, mark = SERIES[label]
            own = [cost for cost in costs if cost.technique == label]
            axes.plot(
                [place(c) for c in own], [of(c) for c in own], color=colour, marker=mark, ms=4.5, lw=1.2, label=name
            )
        for label, x, y in stated:
            _mark(axes, [x], [y], SERIES[label][1])
        if stated:
            _mark(axes, [], [], INK, "as the paper states")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _dress(axes, y_label, x_label)
        _legend(drawn)
    return drawn


def _memory(process_bytes: int, costs: Sequence[Cost], place: Callable[[Cost], float], x_label: str) -> Figure:
    """The bytes of a decision on top of the process that the paper measures with them."""
    by_load = x_label == "connections"
    stated = (
        [("wrr:order=block:cache=list", 120_000.0, 2.6 * 2.2)]
        if by_load
        else [("wrr:order=block:cache=list", 8.4, 3.4)]
    )
    drawn = _cost(costs, place, x_label, lambda cost: (process_bytes + cost.state_bytes) / 1e6, "", stated)
    axes = drawn.axes[0]
    axes.axhline(process_bytes / 1e6, color=FAINT, lw=1, ls=(0, (3, 3)), zorder=1)
    axes.set_yscale("linear")
    axes.set_ylim(0, None)
    axes.set_ylabel(f"MB, with {process_bytes / 1e6:g} MB of the process")
    return drawn


def _changes(
    costs: Sequence[ChangeCost], of: Callable[[ChangeCost], float], y_label: str, stated: dict[str, float]
) -> Figure:
    with figure(HEIGHT_INCHES, HALF_INCHES) as (drawn, axes):
        for label in dict.fromkeys(cost.technique for cost in costs):
            kept = label.endswith(":pin_on_change=true")
            name, colour, mark = SERIES[label.removesuffix(":pin_on_change=true")]
            own = [cost for cost in costs if cost.technique == label]
            axes.plot(
                *([cost.per_second for cost in own], [of(cost) for cost in own]),
                color=colour, marker=mark, ms=4.5, lw=1.2, ls="--" if kept else "-",
                label=f"{name}, not flushed" if kept else name,
            )  # fmt: skip
        for label, y in stated.items():
            _mark(axes, [106], [y], SERIES[label][1])
        if stated:
            _mark(axes, [], [], INK, "paper's mean")
        _dress(axes, y_label, "changes of all weights per second")
        _legend(drawn)
    return drawn
