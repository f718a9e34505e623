"""A study of the lab before and after it has run: its settings, its values in cells, and the machine's verdict."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import LATE_MAX_MS
from anabranch.lab.fabric.termination import unwinding
from anabranch.reproduce import cell_record
from anabranch.reproduce.backend import Announcement, Context
from anabranch.reproduce.backends.lab.journal import FILE, Journal
from anabranch.reproduce.cell_evidence import CellEvidence
from anabranch.reproduce.claim import Claim, Expected
from anabranch.reproduce.experiment_settings import check_keys, read_settings
from anabranch.reproduce.group import Group
from anabranch.reproduce.measure import CellMeasure
from anabranch.reproduce.positions import key_line
from anabranch.reproduce.record import identity, recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from anabranch.lab.calibration.contention import Contention

EXPERIMENTS = ("dbb", "meters", "valo.fig10", "valo.fig15", "wino")
"""Modules with the code of an experiment: `SETTINGS`, a dataclass, and `run(study, context)`."""
KEYS = ("backend", "name", "title", "experiment", "settings", "quick")
NOTE = "note"
HINT = "leave the machine to the study, and run it again"


@dataclass(frozen=True)
class LabStudy:
    """See `backend.Prepared`."""

    group: Group
    expected: Expected
    experiment: str
    settings: Any
    """`SETTINGS` of the experiment."""
    folder: Path
    """Folder of the results."""
    quick_note: str

    announcement: Announcement | None = None

    def journal(self, context: Context, late_max_ms: float = LATE_MAX_MS, *, counted: bool = False) -> Journal:
        """Runs that have been measured: of a full study those of earlier pieces too; see `Journal`."""
        made = Journal(
            self.folder / FILE, identity(self.group), late_max_ms, counted, context.busy_too or bool(self.quick_note)
        )
        made.begin(None if self.quick_note else recorded(self.group), anew=bool(self.quick_note))
        return made

    def verdict(self, journal: Journal, keys: Collection[str]) -> tuple[bool, Contention | None]:
        """Whether no run was disturbed by the machine, and the verdict on it, which is written to `folder`."""
        machine = journal.machine(keys)
        if machine is None:
            return True, None
        contention.write(machine, self.folder)
        return machine.usable and not journal.disturbed(keys), machine

    def run(self, context: Context) -> LabEvidence:
        """Makes the lab, measures, writes what it measured into `folder`, and removes the lab.

        Raises:
            AnabranchError: no lab can be made here, or something in it refuses.

        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with unwinding():
            found: LabEvidence = _experiment(self.experiment).run(self, context)
        return found


@dataclass(frozen=True)
class LabEvidence(CellEvidence):
    """See `backend.Evidence`."""

    machine: Contention | None = None
    """Verdict on the machine."""
    tables: Callable[[Console], None] | None = None
    """Prints what was measured beside the claims."""
    drawn: Sequence[tuple[str, str, Figure]] = ()
    journal: Journal | None = None
    """Runs that the values are of, where the study is measured in pieces."""
    missing: str = ""
    """Runs that are still to be measured, in words; empty if there is none."""

    @property
    def recordable(self) -> bool:
        """See `backend.Evidence`: runs that the machine disturbed are in no value of a study with a journal."""
        return self.usable if self.journal is None else self.journal.has_any()

    def parts(self) -> Mapping[str, bytes]:
        """See `backend.Evidence`: cells with all their seeds, and the journal, so that another machine can go on."""
        whole = cell_record.parts(self.cells.whole())
        return {**whole, **(self.journal.parts() if self.journal is not None else {})}

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """The experiment's own figure, and those of the claims' file."""
        yield from self.drawn
        yield from super().figures()

    def show(self, console: Console) -> None:
        """See `backend.Evidence`."""
        if self.tables is not None:
            self.tables(console)
        if self.missing:
            console.print(self.missing, style="bold", markup=False, highlight=False, soft_wrap=True)
        if self.machine is not None:
            contention.show(self.machine, HINT, console)


def _experiment(name: str) -> Any:
    return importlib.import_module(f"anabranch.reproduce.backends.lab.{name}")


def read_study(file: Path, text: str, table: Mapping[str, Any], quick: bool) -> tuple[str, Any, str]:
    """Experiment, settings and the note on what `--quick` makes smaller.

    Raises:
        AnabranchError: a key is missing, unknown or has a wrong value.

    """
    check_keys(table, KEYS, file)
    experiment = str(table.get("experiment", ""))
    if experiment not in EXPERIMENTS:
        line = key_line(text, 0, "experiment")
        raise AnabranchError(
            f"{file}:{line}: experiment: {experiment or 'missing'}; use one of {', '.join(EXPERIMENTS)}"
        )
    smaller = dict(table.get("quick", {}))
    note = str(smaller.pop(NOTE, ""))
    given = {**table.get("settings", {}), **(smaller if quick else {})}
    return experiment, read_settings(_experiment(experiment).SETTINGS, given, file), note if quick else ""


def published(claims: Sequence[Claim], quantity: str, axis: str) -> dict[tuple[str, Any], Claim]:
    """Claims about a quantity by scheme and value of an axis, for the tables of an experiment."""
    found = {}
    for claim in claims:
        measure = claim.measure
        if isinstance(measure, CellMeasure) and measure.quantity.name == quantity and axis in measure.at:
            found[str(measure.of.get("scheme")), measure.at[axis][0]] = claim
    return found
