"""A record that grows: its cells stay where some of them, run again, are the same, and only those that it lacks run."""

from __future__ import annotations

from dataclasses import replace

from anabranch._core import MODEL_VERSION
from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.simulator.again import again
from anabranch.reproduce.backends.simulator.simulate import SimulatorStudy
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Kept, Record, cells_identity


def grown(study: SimulatorStudy, record: Record, count: int, context: Context) -> tuple[SimulatorStudy, Kept]:
    """The study with the cells that its record has, after so many of them have run again.

    Raises:
        AnabranchError: the record is of another model or of other cells, a cell differs, or a quantity is not there.

    """
    label = study.group.label
    problem = ""
    if record.model_version != MODEL_VERSION:
        problem = f"its record is of model {record.model_version}, and this is model {MODEL_VERSION}"
    elif record.cells != cells_identity(study.group):
        problem = "study.toml has changed in more than its seeds since its record"
    else:
        check = again(study.group, record, count, context)
        context.report(f"{label}: {check.cells} of {check.of} cells of the record: {check.result}")
        problem = check.result if check.differing else ""
    if problem:
        raise AnabranchError(f"{label}: --grow: {problem}; hint: without --grow all cells run")
    cells = read(record, study.expected.quantities)
    asked = {(cells.cell(one.point), one.seed) for one in study.sweep.cells}
    numbers = {key: number for key, number in cells.numbers.items() if key[:2] in asked}
    since = record.date if record.kept is None else record.kept["date"]
    kept = Kept(len({key[:2] for key in numbers}), len(study.sweep.cells), check.cells, since)
    return replace(study, kept=replace(cells, numbers=numbers)), kept
