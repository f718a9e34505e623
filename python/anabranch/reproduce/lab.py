"""`anabranch lab reproduce`: the studies of the lab's backend, paper by paper, each with a report of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.selection import groups

if TYPE_CHECKING:
    from anabranch.reproduce.session import Evaluated

RUNS = Path("runs")


def papers() -> list[str]:
    """Papers with a study of the lab."""
    return sorted({group.paper for group in groups() if group.by_name_only})


def of_lab(asked: Sequence[str]) -> list[Group]:
    """Studies of the lab of these papers."""
    known = groups()
    return [group for paper in asked for group in known if group.paper == paper and group.by_name_only]


def folder(group: Group, quick: bool) -> Path:
    """Folder of a group's report."""
    return RUNS / f"{group.study}{'-quick' if quick else ''}"


@dataclass(frozen=True)
class Piece:
    """What is measured now."""

    quick: bool = False
    minutes: float = math.inf
    """Time after which no further run begins; what is missing then is for the next piece."""
    busy_too: bool = False
    """Whether runs count that other programs of the machine disturbed."""


def reproduce(
    asked: Sequence[str], piece: Piece, console: Console, command: Sequence[str], done: Callable[[Evaluated], None]
) -> list[Evaluated]:
    """Runs papers one after the other, prints what each came to with its verdicts, and writes its report.

    `done` is called with each study before the next one begins, which may fail.

    Raises:
        AnabranchError: there is no such paper, or a lab cannot be made.

    """
    # SciPy takes seconds to load: completion asks for the papers alone.
    from anabranch.reproduce.session import run

    known = papers()
    for paper in asked:
        if paper not in known:
            raise AnabranchError(f"lab reproduce: {paper}: no such paper; take one of: {', '.join(known)}")

    def report(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    evaluated: list[Evaluated] = []
    ends_at = time.monotonic() + 60 * piece.minutes
    context = Context(command, not console.is_terminal, report, ends_at, piece.busy_too)
    for group in of_lab(asked):
        (one,) = run([group], RUNS, piece.quick, context)
        # matplotlib takes a second to load: not before there is something to draw.
        from anabranch.reproduce.pages.report import write
        from anabranch.reproduce.pages.table import show

        results = folder(group, piece.quick)
        page = write([one], results, f"Reproduction: {results.name}", command)
        one.evidence.show(console)
        console.print()
        show([one], console)
        report(f"\nreport: {page}, figures and numbers beside it")
        done(one)
        evaluated.append(one)
    return evaluated
