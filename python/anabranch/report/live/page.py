"""The live page: a run's fabric and progress, fed from `/feed.json`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch._core import VERSION
from anabranch.report.page.explore.fabric_shape import shape
from anabranch.report.page.web_page import LIBRARY, LIBRARY_STYLE, RUNS, SORTING, joined, render, source
from anabranch.report.plot.heat import STOPS

SCRIPTS = (
    "unpack.js",
    "read_page.js",
    "quantity.js",
    *SORTING,
    "line_chart.js",
    "fabric_state.js",
    "fabric_values.js",
    "fabric_drawing.js",
    "fabric_stage.js",
    "live_times.js",
    "live_state.js",
    "live.js",
)


def page(name: str, topology: Mapping[str, Any], command: Sequence[str]) -> str:
    """The whole page as text.

    The page opens the report from its own memory, so that it is there when the command is not any more; such a document
    inherits this page's policy, which therefore allows the report's scripts as well.
    """
    values = {
        "title": name,
        "command": shlex.join(command),
        "library_style": source(LIBRARY_STYLE),
        "data": {"name": name, "shape": shape(topology), "heat": list(STOPS)},
        "version": VERSION,
    }
    return render("live.html", SCRIPTS, {}, values, [LIBRARY], also=[joined(RUNS)], connect=True)
