"""Every figure of a report, by name: drawn once, for the page and for files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.figure import Figure

from anabranch.report.page.explore import traces
from anabranch.report.page.material import Group, Material
from anabranch.report.page.step_section import shown, step_panels, step_paths
from anabranch.report.plot import (
    class_ranges,
    critical_path,
    distribution,
    fabric,
    load_curves,
    slowdown_sizes,
    step_times,
)
from anabranch.report.plot import traces as trace_figure
from anabranch.report.plot.series import Series
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.measures import Measure
from anabranch.simulate.stats.size_classes import ALL_FLOWS, SizeClass
from anabranch.simulate.stats.starts import last_start_ns
from anabranch.simulate.stats.tier_load import port_utilization
from anabranch.simulate.study.criteria import Criterion
from anabranch.simulate.study.outcome import StudyOutcome, short

FABRICS_MAX = 8
FLOWS_DRAWN_MIN = 2
CURVES = "curves"
"""Beginning of the names of figures against the swept axis."""
EXPLORED = (
    *(f"{CURVES}-{name}" for name in ("fct", "slowdown")),
    *("classes", "cdf", "slowdown-by-size", "fabric", "queues", "windows", "rates"),
)
"""Beginnings of the names of figures that scripts draw as well."""
TRACES = {
    "queues": ("Queues", "backlog, KB", 1e3),
    "windows": ("Congestion windows", "congestion window, KB", 1e3),
    "rates": ("Rates", "allowed rate, Gbps", 1e9),
}
"""Heading, unit and its size of each kind of traces."""
STEPS = ("steps", "critical")
"""Names of the figures of steps, which stand in a section of their own."""


@dataclass(frozen=True)
class Drawn:
    """A figure, its file name, and its caption."""

    name: str
    heading: str
    """Heading; empty if the figure continues the section before."""
    caption: str
    figure: Figure
    on_page: bool = True
    """Whether the page has room for it; it is a file otherwise."""

    @property
    def explored(self) -> bool:
        """Whether the page's scripts draw the same, so that the figure is for print and for readers without scripts."""
        return self.name.startswith(EXPLORED)


def draw(
    material: Material, classes: Sequence[SizeClass], criteria: Sequence[Criterion] = (), *, every: bool = False
) -> Iterator[Drawn]:
    """Draws all figures, in the order of the page; those against an axis show the criteria.

    `every` draws what the page has no room for, too.
    """
    with_steps = shown(material)
    if with_steps:
        yield Drawn(STEPS[0], "Steps", "Step times", step_times.draw(step_panels(with_steps)))
        if paths := step_paths(with_steps):
            caption = "Critical path of the longest step, part by part"
            yield Drawn(STEPS[1], "", caption, critical_path.draw(paths))
    if material.study is not None and material.study.swept_axis is not None:
        heading = f"Against {short(material.study.swept_axis)}"
        for measure in dict.fromkeys(one.measure for one in criteria):
            yield from _curves(material.study, measure, [one for one in criteria if one.measure is measure], heading)
            heading = ""
    for kind in (_ranges, _distributions, _sizes):
        first = True
        for group in material.groups:
            # One flow has no quantiles: its numbers stand in the table.
            if max(map(_finished, group.series)) < FLOWS_DRAWN_MIN:
                continue
            for drawn in kind(group, classes):
                yield drawn if first else Drawn(drawn.name, "", drawn.caption, drawn.figure)
                first = False
    yield from _fabrics(material, every)
    yield from _traces(material)


def _finished(one: Series) -> int:
    return int(collected(one.flows.select(pl.col("finished").sum())).item())


def _curves(study: StudyOutcome, measure: Measure, criteria: Sequence[Criterion], heading: str) -> Iterator[Drawn]:
    """Draws a measure against the swept axis: a row for each statistic, a panel for each size class."""
    swept, compared, summary = study.swept_axis or "", study.compared_axis, study.summary
    others = [axis for axis in study.axes if axis not in (swept, compared)]
    labels = study.axes[compared] if compared else [study.name]
    statistics = list(dict.fromkeys(one.statistic for one in criteria))
    for combination in product(*(study.axes[axis] for axis in others)):
        rows = summary
        for axis, value in zip(others, combination, strict=True):
            rows = rows.filter(pl.col(axis) == value)
        grid = []
        for statistic in statistics:
            panels = []
            for one in criteria:
                if one.statistic != statistic:
                    continue
                of_class = rows.filter(pl.col("size_class") == one.size_class)
                curves = []
                for label in labels:
                    points = of_class.filter(pl.col(compared) == label) if compared else of_class
                    points = points.sort(swept)
                    values, halves = points[one.column] / measure.scale, points[f"{one.column}_ci95"] / measure.scale
                    curves.append(
                        load_curves.Curve(str(label), points[swept].to_list(), values.to_list(), halves.to_list())
                    )
                panels.append(load_curves.Panel(one.size_class if measure.by_class else "", curves))
            grid.append(panels)
        where = ", ".join(f"{short(axis)} {value}" for axis, value in zip(others, combination, strict=True))
        words = [measure.words, where] if where else [measure.words]
        yield Drawn(
            _file_name(f"{CURVES} {measure.name}", where),
            heading,
            ", ".join(words),
            load_curves.draw(grid, short(swept), [f"{one} {measure.axis}" for one in statistics], measure.floor),
        )
        heading = ""


def _ranges(group: Group, classes: Sequence[SizeClass]) -> Iterator[Drawn]:
    for measure, word in (("slowdown", "Slowdown"), ("fct_ns", "FCT")):
        drawn = class_ranges.draw(group.series, classes, measure)
        yield Drawn(_file_name(f"classes-{measure}", group.title), "By size class", _label(word, group), drawn)


def _distributions(group: Group, classes: Sequence[SizeClass]) -> Iterator[Drawn]:
    within = [one for one in classes if one is not ALL_FLOWS] or list(classes)
    for measure, word in (("fct_ns", "FCT"), ("slowdown", "Slowdown")):
        drawn = distribution.draw(group.series, within, measure)
        yield Drawn(_file_name(f"cdf-{measure}", group.title), "Distributions", _label(word, group), drawn)


def _sizes(group: Group, _: Sequence[SizeClass]) -> Iterator[Drawn]:
    drawn = slowdown_sizes.draw(group.series)
    yield Drawn(_file_name("slowdown-by-size", group.title), "Slowdown against flow size", group.title, drawn)


def _fabrics(material: Material, every: bool) -> Iterator[Drawn]:
    """Draws the links of each series."""
    shown = [
        (group, one.label, run) for group in material.groups for one, run in zip(group.series, group.runs, strict=True)
    ]
    heading = "Link utilisation"
    for number, (group, label, run) in enumerate(shown if every else shown[:FABRICS_MAX]):
        title = ", ".join(part for part in (label if len(shown) > 1 else "", group.title) if part)
        drawn = fabric.draw(
            run.topology, port_utilization(run.topology, run.measured_ports, last_start_ns(run.scanned_flows))
        )
        yield Drawn(_file_name("fabric", title or run.name), heading, title, drawn, on_page=number < FABRICS_MAX)
        heading = ""


def _traces(material: Material) -> Iterator[Drawn]:
    """Draws a figure for each kind of traces and run that has some."""
    of_runs: dict[tuple[str, str], dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]] = {}
    for one in traces.traces(material):
        times, values = one.frame["time_ns"].to_numpy(), one.frame["value"].to_numpy()
        of_runs.setdefault((one.kind, one.label), {})[one.of] = (times, values)
    note = ""
    for (kind, label), one_kind in of_runs.items():
        heading, unit, scale = TRACES[kind]
        drawn = trace_figure.draw(one_kind, unit, scale)
        yield Drawn(_file_name(kind, label), "" if note == heading else heading, label, drawn)
        note = heading


def _label(word: str, group: Group) -> str:
    return f"{word}: {group.title}" if group.title else word


def _file_name(kind: str, title: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", f"{kind} {title}".strip()).strip("-").lower()
