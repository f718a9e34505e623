"""Some cells of a record, run again in a folder of their own, so that no result of before stands in for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.simulator.simulate import prepare
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.records.spot_check import SpotCheck, compared, draw


def again(group: Group, record: Record, count: int, context: Context) -> SpotCheck:
    """Runs some cells of a record again, and compares their numbers to the bit."""
    with TemporaryDirectory(prefix="anabranch-") as folder:
        study = prepare(group, Path(folder), quick=False)
        kept = read(record, study.expected.quantities, study.expected.checks)
        kept_cells = {(cell, seed) for cell, seed, _ in kept.numbers}
        known = [one for one in study.sweep.cells if (kept.cell(one.point), one.seed) in kept_cells]
        drawn = draw(known, count, record.study)
        jobs = {one.folder: study.sweep.jobs[one.folder] for one in drawn}
        part = replace(study.sweep, cells=drawn, jobs=jobs, refused=[])
        cells = replace(study, sweep=part).measure(context)
        if cells.missing:
            raise AnabranchError(f"{group.label}: {next(iter(cells.missing.values()))}")
        return compared(group, cells, kept, len(known))
