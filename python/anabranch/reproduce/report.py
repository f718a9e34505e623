"""What a reproduction leaves behind: a page, its figures, and the table and the measured numbers as CSV."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from anabranch.atomic_file import write_whole
from anabranch.plot.style import save, svg
from anabranch.reproduce.drawing import figures
from anabranch.reproduce.line import Line
from anabranch.reproduce.simulate import Evaluated
from anabranch.reproduce.table import NOTES, summary
from anabranch.study.outcome import short

COLUMNS = (
    "group", "id", "what", "where", "unit", "paper", "paper_low", "paper_high", "ours", "value", "low", "high", "seeds",
    "kind", "because",
)  # fmt: skip


def write(
    lines: Sequence[Line], evaluated: Sequence[Evaluated], folder: Path, title: str, command: Sequence[str]
) -> Path:
    """Writes everything into `folder`, and returns the page."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    drawn: list[tuple[str, Figure]] = []
    for one in evaluated:
        for name, caption, figure in figures(one):
            save(figure, folder / "figures" / f"{name}.png")
            drawn.append((caption, figure))
    files = {
        "verdicts.csv": _csv(COLUMNS, ([asdict(line)[column] for column in COLUMNS] for line in lines)),
        "measured.csv": _csv(("group", "cell", "seed", "quantity", "value"), _measured(evaluated)),
        "verdicts.json": json.dumps([asdict(line) for line in lines], indent=1, allow_nan=False) + "\n",
        "report.html": _page(lines, evaluated, drawn, title, command),
    }
    for name, text in files.items():
        write_whole(folder / name, text)
    return folder / "report.html"


def _page(
    lines: Sequence[Line],
    evaluated: Sequence[Evaluated],
    drawn: Sequence[tuple[str, Figure]],
    title: str,
    command: Sequence[str],
) -> str:
    environment = Environment(
        loader=PackageLoader("anabranch.reproduce"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    groups = list(dict.fromkeys(line.group for line in lines))
    return environment.get_template("reproduce.html").render(
        title=title,
        command=shlex.join(command),
        summary=summary(lines),
        notes=NOTES,
        groups=[(group, [line for line in lines if line.group == group]) for group in groups],
        smaller={one.planned.group.label: one.planned.quick_note for one in evaluated},
        figures=[(caption, svg(figure, caption)) for caption, figure in drawn],
    )


def _measured(evaluated: Iterable[Evaluated]) -> Iterable[tuple[object, ...]]:
    for one in evaluated:
        for (place, seed, quantity), number in one.values.numbers.items():
            cell = ", ".join(f"{short(axis)} {label}" for axis, label in zip(one.values.axes, place, strict=True))
            yield one.planned.group.label, cell, seed, quantity.words, number


def _csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
