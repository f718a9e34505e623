"""Page of `anabranch split`: one HTML file that needs nothing else."""

from __future__ import annotations

import shlex

from anabranch.files.units import amount, count, data_size, nanoseconds, pct, ratio
from anabranch.report.page.explore.split_errors import split_errors
from anabranch.report.page.web_page import LIBRARY, LIBRARY_STYLE, SORTING, render, source
from anabranch.report.plot import split_cost, split_error, split_moved, split_paths
from anabranch.report.plot.style import svg
from anabranch.report.tables.split_table import short
from anabranch.split.job import Result
from anabranch.split.write import DEFINITIONS

SCRIPTS = ("unpack.js", "read_page.js", "quantity.js", *SORTING, "line_chart.js", "split_errors.js", "split.js")


def page(result: Result, command: list[str]) -> str:
    """The whole page as text."""
    moved = [
        (change.label(len(result.request.weights)), svg(split_moved.draw(result, index), "connections moved"))
        for index, change in enumerate(result.request.changes)
    ]
    filters = {
        "amount": amount,
        "data_size": data_size,
        "count": count,
        "ns": nanoseconds,
        "pct": pct,
        "times": lambda times: "-" if times is None else ratio(times),
        "short": lambda change: short(change.kind, change.text),
    }
    values = {
        "result": result,
        "command": shlex.join(command),
        "definitions": DEFINITIONS,
        "error": svg(split_error.draw(result), "error by technique"),
        "cost": svg(split_cost.draw(result), "cost against error"),
        "paths": svg(split_paths.draw(result), "asked and got by path"),
        "moved": moved,
        "data": split_errors(result),
        "library_style": source(LIBRARY_STYLE),
    }
    return render("split.html", SCRIPTS, filters, values, [LIBRARY])
