"""Report of a reproduction: a page, its figures, and the table and the measured numbers as CSV and JSON."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from anabranch.atomic_file import write_whole
from anabranch.plot.style import save, svg
from anabranch.report.csv_text import csv_text
from anabranch.reproduce.drawing import figures
from anabranch.reproduce.line import Line
from anabranch.reproduce.reasons import theory_text
from anabranch.reproduce.session import Evaluated
from anabranch.reproduce.table import NOTES, summary

COLUMNS = (
    "group", "id", "what", "where", "unit", "paper", "paper_low", "paper_high", "ours", "value", "low", "high", "seeds",
    "fair", "theory", "theory_low", "theory_high", "timed", "kind", "because",
)  # fmt: skip


def write(evaluated: Sequence[Evaluated], folder: Path, title: str, command: Sequence[str]) -> Path:
    """Writes everything into `folder`, and returns the page; further files of a study stand beside it.

    Those of several studies go to a folder each, of the study's name.
    """
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    drawn: list[tuple[str, Figure]] = []
    for one in evaluated:
        for name, caption, figure in figures(one):
            save(figure, folder / "figures" / f"{name}.png")
            drawn.append((caption, figure))
    records = [record(line) for one in evaluated for line in one.lines]
    files = {
        "verdicts.csv": csv_text(COLUMNS, ([row[column] for column in COLUMNS] for row in records)),
        "measured.csv": csv_text(("group", "cell", "seed", "quantity", "value"), _measured(evaluated)),
        "verdicts.json": json.dumps(records, indent=1, allow_nan=False) + "\n",
        "report.html": _page(evaluated, drawn, title, command),
    }
    for one in evaluated:
        beside = "" if len(evaluated) == 1 else f"{one.prepared.group.study}/"
        files |= {f"{beside}{name}": text for name, text in one.evidence.files().items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, text)
    return folder / "report.html"


def record(line: Line) -> dict[str, Any]:
    """A line as plain data; an end that theory leaves open is None."""
    band = line.theory
    ends = (
        (None, None, None) if band is None else (band.value, band.low, band.high if math.isfinite(band.high) else None)
    )
    return asdict(line) | dict(zip(("theory", "theory_low", "theory_high"), ends, strict=True))


def _page(
    evaluated: Sequence[Evaluated], drawn: Sequence[tuple[str, Figure]], title: str, command: Sequence[str]
) -> str:
    environment = Environment(
        loader=PackageLoader("anabranch.reproduce"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    lines = [line for one in evaluated for line in one.lines]
    return environment.get_template("reproduce.html").render(
        title=title,
        command=shlex.join(command),
        summary=summary(lines),
        notes=NOTES,
        studies=evaluated,
        with_theory=any(line.theory is not None for line in lines),
        theory_text=theory_text,
        # Made by templates of the backends, which escape what they are given.
        details=[Markup(text) for one in evaluated if (text := one.evidence.details())],
        figures=[(caption, svg(figure, caption)) for caption, figure in drawn],
    )


def _measured(evaluated: Iterable[Evaluated]) -> Iterable[tuple[object, ...]]:
    for one in evaluated:
        for row in one.evidence.measured():
            yield one.prepared.group.label, *row
