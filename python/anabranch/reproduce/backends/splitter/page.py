"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from anabranch.plot.style import svg
from anabranch.reproduce.splitting.figures import draw
from anabranch.reproduce.splitting.job import Outcome
from anabranch.reproduce.splitting.table import summary
from anabranch.units import count, pct


def page(outcome: Outcome, command: Sequence[str]) -> str:
    """The whole page as text."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("anabranch.reproduce.splitting"), PackageLoader("anabranch.reproduce")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters.update(count=count, pct=pct)
    weights = outcome.found.accuracy["weights"][0]
    byte_rows = [
        (label, float(np.mean(weights.mapes[label])), float(np.mean(weights.byte_mapes[label])))
        for label in weights.mapes
    ]
    return environment.get_template("splitting.html").render(
        outcome=outcome,
        study=outcome.study,
        command=shlex.join(command),
        summary=summary(outcome),
        figures=[(title, svg(drawn, title)) for _, title, drawn in draw(outcome)],
        byte_rows=byte_rows,
    )
