"""`verify` takes one right split of a thousand for wrong (`tolerance.chance.FALSE_ALARMS`): what tests make of it."""

from __future__ import annotations

from collections.abc import Callable

from support.command import Run

WRONG, CANNOT_TELL = 1, 3
TRIALS = 3


def as_planned(verify: Callable[[int], Run]) -> Run:
    """The first trial that finds the split as planned: a right one has none but once in 10^9, a wrong one never any.

    Trials are numbered from 0, and are to be of other packets each. Too few of them say nothing.
    """
    runs = [verify(0)]
    while runs[-1].returncode in (WRONG, CANNOT_TELL) and len(runs) < TRIALS:
        runs.append(verify(len(runs)))
    assert runs[-1].returncode == 0, [(run.stdout, run.stderr) for run in runs]
    return runs[-1]
