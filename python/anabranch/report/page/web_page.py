"""HTML pages of one file: templates, with styles, scripts and data inside, and no leave to load anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

SCRIPTS = files("anabranch.report.page") / "scripts"
LIBRARY, LIBRARY_STYLE = "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css"
"""Library of pages with charts."""
SORTING = ("element.js", "sort_key.js", "sortable_table.js", "theme.js")
"""Scripts of every page."""
RUNS = (
    "unpack.js",
    "read_page.js",
    "quantity.js",
    *SORTING,
    "line_chart.js",
    "choice.js",
    "distribution.js",
    "against_axis.js",
    "against_size.js",
    "explore.js",
    "shortest_paths.js",
    "numbered_paths.js",
    "fabric_state.js",
    "fabric_values.js",
    "fabric_drawing.js",
    "fabric_flows.js",
    "fabric_stage.js",
    "fabric_view.js",
    "traces.js",
    "report.js",
)
"""Scripts of the report on runs."""


def render(
    template: str,
    scripts: Sequence[str],
    filters: Mapping[str, Callable[..., object]],
    values: Mapping[str, Any],
    libraries: Sequence[str] = (),
    *,
    also: Sequence[str] = (),
    connect: bool = False,
) -> str:
    """The whole page as text.

    `scripts` are file names within `scripts/`, joined in their order; `libraries` stand before them, unchanged. The
    page's policy allows these alone, by their hash, and `also` the scripts with those texts: no name in the data can
    become a script. Nothing is fetched, unless the page may `connect` to the server that it came from.
    """
    environment = Environment(
        loader=PackageLoader("anabranch.report.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(filters)
    blocks = [source(name) for name in libraries] + [joined(scripts)]
    hashes = [base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() for block in [*blocks, *also]]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}"
    if connect:
        policy += "; connect-src 'self'"
    return environment.get_template(template).render(**values, scripts=blocks, policy=policy)


def joined(scripts: Sequence[str]) -> str:
    """Scripts as one, in a scope of their own."""
    return '"use strict";\n(() => {\n' + "\n".join(source(name) for name in scripts) + "})();\n"


@cache
def source(name: str) -> str:
    """Text of a file within `scripts/`."""
    text = SCRIPTS.joinpath(name).read_text(encoding="utf-8")
    # The end of a script element may stand in no script.
    assert "</script" not in text.lower(), name
    return text
