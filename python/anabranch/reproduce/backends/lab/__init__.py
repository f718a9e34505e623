"""Published evaluations of real switches, run again in a lab: one module each, found by itself.

A module has `run(quick: bool, console: Console) -> Contention`, which makes its labs, measures, prints its table beside
the paper's claims, removes the labs, and says whether the machine was quiet enough; its docstring's first line is the
study's title.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

from rich.console import Console

from anabranch.errors import AnabranchError
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import Contention

HINT = "leave the machine to the study, and run it again"


def papers() -> list[str]:
    """The papers there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def reproduce(wanted: Sequence[str], quick: bool, console: Console) -> list[Contention]:
    """Runs papers one after the other; answers for each whether the machine was quiet enough.

    Raises:
        AnabranchError: there is no such paper, or a lab cannot be made.

    """
    known = papers()
    for paper in wanted:
        if paper not in known:
            raise AnabranchError(
                f"lab reproduce: {paper}: no such paper; take one of: {', '.join(known) or 'none yet'}"
            )
    found: list[Contention] = []
    for paper in wanted:
        found.append(importlib.import_module(f"{__name__}.{paper}").run(quick, console))
        contention.show(found[-1], HINT, console)
    return found
