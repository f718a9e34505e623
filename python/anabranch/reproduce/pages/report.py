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

from anabranch.files.atomic_file import write_whole
from anabranch.report.page.csv_text import csv_text
from anabranch.report.plot.style import save, svg
from anabranch.reproduce.judge.line import FAILS, Line
from anabranch.reproduce.pages.drawing import figures
from anabranch.reproduce.pages.mutation_table import counted, unseen, word
from anabranch.reproduce.pages.overview import papers
from anabranch.reproduce.pages.table import NOTES, chosen, remarks
from anabranch.reproduce.session import Evaluated

COLUMNS = (
    "group", "id", "what", "where", "compare", "fixed", "main", "counted", "chosen", "unit", "paper", "paper_low",
    "paper_high", "ours", "value", "low", "high", "repeated", "seeds", "needed", "fair", "timed", "check", "checked_by",
    "theory", "theory_low", "theory_high", "trials_low", "trials_high", "kind", "because", "turns",
)  # fmt: skip
ABSENT = "NA"
"""What a column of verdicts.csv holds where a claim has no such value."""


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
        "verdicts.csv": csv_text(COLUMNS, (_filled(row) for row in records)),
        "measured.csv": csv_text(("group", "cell", "seed", "quantity", "value"), _measured(evaluated)),
        "verdicts.json": json.dumps(records, indent=1, allow_nan=False) + "\n",
        "report.html": _page(evaluated, drawn, title, command),
    }
    for one in evaluated:
        beside = "" if len(evaluated) == 1 else f"{one.group.study}/"
        files |= {f"{beside}{name}": text for name, text in one.evidence.files().items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, text)
    return folder / "report.html"


def record(line: Line) -> dict[str, Any]:
    """A line as plain data; an end that theory leaves open is None."""
    oracle, band = line.oracle, line.spread.band if line.spread else None
    plain = {name: value for name, value in asdict(line).items() if name not in ("oracle", "spread")}
    return plain | {
        "chosen": dict(line.chosen),
        "counted": line.counted,
        "turns": line.turns,
        "theory": oracle.value if oracle else None,
        "theory_low": oracle.low if oracle else None,
        "theory_high": _finite(oracle.high) if oracle else None,
        "trials_low": band.low if band else None,
        "trials_high": _finite(band.high) if band else None,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _filled(row: dict[str, Any]) -> Iterable[object]:
    """Cells of a row of the CSV, none of them empty."""
    for column in COLUMNS:
        value = row[column]
        if column == "chosen":
            value = "; ".join(f"{name}: {text}" for name, text in row[column].items())
        yield ABSENT if value is None or value in ("", "-") else value


def _page(
    evaluated: Sequence[Evaluated], drawn: Sequence[tuple[str, Figure]], title: str, command: Sequence[str]
) -> str:
    environment = Environment(
        loader=PackageLoader("anabranch.reproduce.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("reproduce.html").render(
        title=title,
        command=shlex.join(command),
        papers=papers(evaluated),
        legend=NOTES.splitlines(),
        studies=evaluated,
        remarks=remarks,
        chosen=chosen,
        word=word,
        counted=counted,
        unseen=unseen,
        fails=FAILS,
        name=lambda words: words.replace(" ", "-"),
        # Made by templates of the backends, which escape what they are given.
        details=[Markup(text) for one in evaluated if (text := one.evidence.details())],
        figures=[(caption, svg(figure, caption)) for caption, figure in drawn],
    )


def _measured(evaluated: Iterable[Evaluated]) -> Iterable[tuple[object, ...]]:
    for one in evaluated:
        for row in one.evidence.measured():
            yield one.group.label, *row
