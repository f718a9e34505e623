"""Details that the report of a study of splitting has beside its claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from anabranch.files.units import count, pct

from .job import Outcome


def details(outcome: Outcome) -> str:
    """HTML."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters.update(count=count, pct=pct)
    weights = outcome.measured.accuracy["weights"][0]
    byte_rows = [
        (label, float(np.mean(weights.mapes[label])), float(np.mean(weights.byte_mapes[label])))
        for label in weights.mapes
    ]
    return environment.get_template("details.html").render(outcome=outcome, study=outcome.study, byte_rows=byte_rows)
