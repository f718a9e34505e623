"""A study with other keys, loads or seeds than its file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.study.study import Overrides, Study, Value

LOAD = "traffic.load"


def changed(
    study: Study,
    overrides: Overrides = (),  # type: ignore[assignment]
    seeds: Sequence[int] | None = None,
    loads: Sequence[float] | None = None,
) -> Study:
    """The study with other seeds, other values of the axis `traffic.load`, and keys of its scenario changed.

    With other seeds or loads no point has more seeds than another.

    Raises:
        AnabranchError: a key that an axis changes, too.

    """
    if loads is not None:
        values = [Value(load, [(LOAD, literal(load))]) for load in loads]
        study = replace(study, axes={**study.axes, LOAD: values}, more_seeds=[])
    if seeds is not None:
        study = replace(study, seeds=list(seeds), more_seeds=[])
    for key, _ in overrides:
        for axis, values in study.axes.items():
            if any(_touches(key, changes) for value in values for changes, _ in value.overrides):
                raise AnabranchError(
                    f"-o {key}: the axis {axis} of {study.file} changes it; give another key, or change the study"
                )
    return replace(study, overrides=[*study.overrides, *overrides])


def _touches(key: str, other: str) -> bool:
    """Whether two keys are the same, or one is the table of the other."""
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")
