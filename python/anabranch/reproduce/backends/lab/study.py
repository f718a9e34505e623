"""A study of the lab before and after it has run: its settings, its values in cells, and the machine's verdict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import LATE_MAX_MS
from anabranch.lab.fabric.termination import unwinding
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellBackend, CellEvidence
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.backends.lab.journal import FILE, Journal
from anabranch.reproduce.claims.claim import Claim, Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.measure import CellMeasure
from anabranch.reproduce.records import cell_record
from anabranch.reproduce.records.record import identity, recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from anabranch.lab.calibration.contention import Contention

QUANTITIES = ("MAPE", "fct", "goodput", "reordered", "retransmitted", "dropped", "meter error")
"""Quantities that labs yield, each some of them."""
HINT = "leave the machine to the study, and run it again"


@dataclass(frozen=True)
class LabStudy:
    """A study of a lab, ready to run (`backend.Prepared`)."""

    group: Group
    expected: Expected
    lab: LabBackend
    settings: Any
    """Object of the lab's `settings`."""
    folder: Path
    """Folder of the results."""
    quick_note: str

    announcement: Announcement | None = None

    def journal(self, context: Context, late_max_ms: float = LATE_MAX_MS, *, counted: bool = False) -> Journal:
        """Runs that have been measured: of a full study those of earlier pieces too; see `Journal`."""
        opened = Journal(
            self.folder / FILE, identity(self.group), late_max_ms, counted, context.busy_too or bool(self.quick_note)
        )
        opened.begin(None if self.quick_note else recorded(self.group), anew=bool(self.quick_note))
        return opened

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
            return self.lab.run(self, context)


@dataclass(frozen=True)
class LabEvidence(CellEvidence):
    """Cells that a lab measured, and the journal of its runs (`backend.Evidence`)."""

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
        """Whether values may be recorded: runs that the machine disturbed are in no value of a study with a journal."""
        return self.usable if self.journal is None else self.journal.has_any()

    def parts(self) -> Mapping[str, bytes]:
        """Files of a record: cells with all their seeds, and the journal, so that another machine can go on."""
        whole = cell_record.parts(self.cells.whole())
        return {**whole, **(self.journal.parts() if self.journal is not None else {})}

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """The experiment's own figure, and those of the claims' file."""
        yield from self.drawn
        yield from super().figures()

    def show(self, console: Console) -> None:
        """Prints the tables that the study has beside its claims."""
        if self.tables is not None:
            self.tables(console)
        if self.missing:
            console.print(self.missing, style="bold", markup=False, highlight=False, soft_wrap=True)
        if self.machine is not None:
            contention.show(self.machine, HINT, console)


class LabBackend(CellBackend):
    """Lab of a study: its class inherits this one, and says how much it measures and how it runs."""

    quantities = QUANTITIES
    unchecked = "its values are of real switches, and repeat only by chance"
    settings: type[Any]
    """Dataclass of the keys of `[settings]`."""

    @abstractmethod
    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Makes the lab, measures, writes into the study's folder of results, and removes the lab.

        Raises:
            AnabranchError: no lab can be made here, or something in it refuses.

        """

    def prepare(self, group: Group, quick: bool, output: Path) -> LabStudy:
        """Reads a study; its results go to `output/NAME`, or `output/NAME-quick`."""
        expected = load_expected(group.folder, quick, self.read_measure)
        settings, note = read_study(group.folder, self.settings, quick)
        folder = output / f"{group.study}{'-quick' if quick else ''}"
        return LabStudy(group, expected, self, settings, folder, note)


def published(claims: Sequence[Claim], quantity: str, axis: str) -> dict[tuple[str, Any], Claim]:
    """Claims about a quantity by scheme and value of an axis, for the tables of an experiment."""
    parts = {}
    for claim in claims:
        measure = claim.measure
        if isinstance(measure, CellMeasure) and measure.quantity.name == quantity and axis in measure.at:
            parts[str(measure.of.get("scheme")), measure.at[axis][0]] = claim
    return parts
