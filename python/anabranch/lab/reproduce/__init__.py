"""Published evaluations of real switches, run again in a lab: one module each, found by itself.

A module has `run(quick: bool, console: Console) -> None`, which makes its labs, measures, prints its table beside the
paper's claims, and removes the labs; its docstring's first line is the study's title.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from rich.console import Console

from anabranch import AnabranchError


def papers() -> list[str]:
    """The papers there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def reproduce(wanted: Sequence[str], quick: bool, console: Console) -> None:
    """Runs papers one after the other.

    Raises:
        AnabranchError: there is no such paper, or a lab cannot be made.

    """
    known = papers()
    for paper in wanted:
        if paper not in known:
            raise AnabranchError(
                f"lab reproduce: {paper}: no such paper; take one of: {', '.join(known) or 'none yet'}"
            )
    for paper in wanted:
        importlib.import_module(f"{__name__}.{paper}").run(quick, console)
