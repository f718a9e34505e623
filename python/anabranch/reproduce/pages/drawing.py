"""Figures of a reproduction: those of each study, and its claims beside what came out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from anabranch.report.plot import claims as claims_plot
from anabranch.reproduce.judge.line import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from anabranch.reproduce.session import Evaluated

NEUTRAL = {"x": 1.0, "%": 0.0}
LABEL_CHARACTERS = 64


def figures(evaluated: Evaluated) -> Iterable[tuple[str, str, Figure]]:
    """File name without ending, title, figure."""
    label = evaluated.group.label
    small = " (--quick)" if evaluated.quick_note else ""
    for name, title, drawn in evaluated.evidence.figures():
        yield f"{slug(label)}-{name}", f"{label}: {title}{small}", drawn
    yield from claim_figures(label, evaluated.lines, small)


def claim_figures(label: str, lines: Iterable[Line], small: str = "") -> Iterable[tuple[str, str, Figure]]:
    """One figure for each unit in which claims were measured."""
    measured = [line for line in lines if line.value is not None]
    for unit in dict.fromkeys(line.unit for line in measured):
        rows = [
            claims_plot.Compared(
                f"{line.id}  {line.what}"[:LABEL_CHARACTERS],
                line.paper_low,
                line.paper_high,
                line.value,
                line.low,
                line.high,
            )
            for line in measured
            if line.unit == unit and line.value is not None
        ]
        name = {"%": "percent", "x": "times"}.get(unit, re.sub(r"\W+", "", unit)) or "plain"
        title = f"{label}: claims; bars: published, dots: ours with 95 % interval{small}"
        yield f"{slug(label)}-claims-{name}", title, claims_plot.draw(rows, unit, NEUTRAL.get(unit))


def slug(label: str) -> str:
    """A label as a file's name."""
    return re.sub(r"[^\w]+", "-", label)
