"""Splitter: weights and connections split without a network, and what decisions cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.reproduce.backends.backend import Announcement, Backend, Context, Prepared
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.claims_file import load_expected

from .measure import ValueMeasure, read_measure
from .study import Study, load

if TYPE_CHECKING:
    from anabranch.reproduce.claims.group import Group
    from anabranch.reproduce.records.record import Record
    from anabranch.simulate.stats.size_classes import SizeClass

    from .evidence import SplitterEvidence
    from .mutated import MutatedSplitting


@dataclass(frozen=True)
class SplitterStudy:
    """A study of splitting before it runs; see `backend.Prepared`."""

    group: Group
    expected: Expected
    study: Study

    announcement: Announcement | None = None

    @property
    def quick_note(self) -> str:
        """Note on what `--quick` makes smaller; empty without it."""
        study = self.study
        small = f"{study.trials} trials instead of {study.published_trials}, and smaller loads for times"
        return small if study.quick else ""

    def run(self, context: Context) -> SplitterEvidence:
        """Runs every experiment."""
        # SciPy and matplotlib take a second to load: not before the study is known to be good.
        from anabranch.files.terminal.pass_progress import PassProgress

        from .evidence import SplitterEvidence
        from .job import run

        with PassProgress(self.group.label, context.quiet) as progress:
            return SplitterEvidence(run(self.study, progress), self.expected.claims)


class Splitting(Backend):
    """Splits weights and connections by every technique, and times their decisions."""

    unchecked = "its values are of the splitter, not of the simulator's model"

    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> ValueMeasure:
        """Reads names of values; size classes do not matter."""
        del classes
        return read_measure(given)

    def prepare(self, group: Group, quick: bool, output: Path) -> SplitterStudy:
        """Reads a study; nothing of it is kept for later runs."""
        del output
        return SplitterStudy(group, load_expected(group.folder, quick, self.read_measure), load(group.folder, quick))

    def mutated(self, prepared: Prepared) -> MutatedSplitting:
        """The study with VALO's gravities broken."""
        from .mutated import MutatedSplitting

        del prepared
        return MutatedSplitting()

    def recall(self, group: Group, record: Record) -> tuple[Expected, SplitterEvidence]:
        """Claims of a group, with the outcome of its record."""
        from .evidence import SplitterEvidence
        from .outcome_record import read

        expected = load_expected(group.folder, read=self.read_measure)
        return expected, SplitterEvidence(read(load(group.folder, quick=False), record), expected.claims)
