"""Backend: what produces a study's values. The engine knows backends, measures and evidence only by these protocols.

    study.toml --prepare--> Prepared --run--> Evidence --estimates, ranking--> judge --> lines --> table, JSON, page
    expected.toml --read_measure--> claims --------------------------------------^
    record/ --recall--------------------------> Evidence

A study names its backend in `study.toml`; without a name it is the simulator's. The engine has the simulator and what
labs share; a study may bring a class of its own (`door`). A backend reads its own study file and its own measures;
everything about claims, verdicts and reports is the engine's, and the same for all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.claims.measure import Measure
from anabranch.reproduce.values.estimate import Estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from anabranch.reproduce.claims.claim import Expected
    from anabranch.reproduce.claims.group import Group
    from anabranch.reproduce.records.record import Kept, Record
    from anabranch.reproduce.records.spot_check import SpotCheck
    from anabranch.reproduce.values.ranking import Ranking
    from anabranch.simulate.stats.size_classes import SizeClass


@dataclass(frozen=True)
class Announcement:
    """Work of a study, reported before it begins."""

    text: str
    seconds: float
    missing: bool
    """Whether anything is left to run."""
    measured: bool
    """Whether the time follows from cells that have run."""


@dataclass(frozen=True)
class Context:
    """Circumstances of a run."""

    command: Sequence[str]
    quiet: bool
    report: Callable[[str], None]
    """Reports a line to the user."""
    ends_at: float = math.inf
    """Reading of `time.monotonic()` from which no further run of a lab begins."""
    busy_too: bool = False
    """Whether runs count that other programs of the machine disturbed."""


class Evidence(Protocol):
    """Values that a study has yielded."""

    def estimates(self, measure: Any) -> Estimates:
        """Estimates of a measure, with their intervals.

        Raises:
            AnabranchError: it names what the study does not have.

        """

    def ranking(self, measure: Any) -> Ranking:
        """Schemes compared pair by pair in the order of the measure."""

    def rivals(self, measure: Any) -> Iterable[tuple[str, Measure]]:
        """Name and measure of every other scheme's value, where a measure is of one scheme alone."""

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """File name without ending, title, figure."""

    def measured(self) -> Iterable[tuple[str, int, str, float | None]]:
        """Rows of measured.csv: cell, seed, quantity with unit, value."""

    def files(self) -> Mapping[str, str]:
        """Texts of further files by name."""

    def parts(self) -> Mapping[str, bytes]:
        """Files of a record, from which `Backend.recall` makes the same evidence.

        Raises:
            AnabranchError: ours is wrong, which is not recorded.

        """

    def details(self) -> str:
        """HTML about the experiment, below the claims; empty if there is nothing to add."""

    def show(self, console: Console) -> None:
        """Prints what the experiment measured beside the claims, if anything."""

    @property
    def usable(self) -> bool:
        """Whether the machine was quiet enough for the values."""

    @property
    def recordable(self) -> bool:
        """Whether the values may be recorded: the machine has disturbed nothing that they are of."""


class Prepared(Protocol):
    """A study that has been read and not yet run."""

    @property
    def group(self) -> Group:
        """Folder it was read from."""

    @property
    def expected(self) -> Expected:
        """Claims and figures."""

    @property
    def quick_note(self) -> str:
        """Note on what `--quick` makes smaller; empty without it."""

    @property
    def announcement(self) -> Announcement | None:
        """Work to do; None if it is short, or reports its progress itself."""

    def run(self, context: Context) -> Evidence:
        """Runs what is missing and returns all values.

        Raises:
            AnabranchError: results cannot be written, or the machine lacks what the study takes.

        """


class Mutated(Protocol):
    """A study of which mechanisms are broken on purpose, one at a time."""

    @property
    def mutations(self) -> Mapping[str, str]:
        """What happens instead of each mechanism, in a sentence, by the mutation's name."""

    @property
    def announcement(self) -> Announcement | None:
        """Work to do beside that of the whole study; None if it is short, or reports its progress itself."""

    def run(self, context: Context, whole: Evidence) -> Iterable[tuple[str, Evidence]]:
        """Runs what is missing; yields the evidence under each mutation. `whole` is that of the study as it is.

        Raises:
            AnabranchError: results cannot be written.

        """


class Backend(ABC):
    """One kind of study: what of it is the engine's, or the class that a study names (`code`)."""

    modelled = False
    """Whether values follow from the simulator's model, the same to the bit whenever a cell runs."""
    unchecked = "its values are not of the simulator's model"
    """Reason why no cell of a record can be run again for the same numbers, where values are not modelled."""

    @abstractmethod
    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> Measure:
        """Reads a measure of a claim.

        Raises:
            KeyError: a key is missing.
            ValueError: a key or a value does not exist.

        """

    @abstractmethod
    def prepare(self, group: Group, quick: bool, output: Path) -> Prepared:
        """Reads a study; results that are kept for later runs go below `output`.

        Raises:
            AnabranchError: a file of the group is wrong.

        """

    @abstractmethod
    def recall(self, group: Group, record: Record) -> tuple[Expected, Evidence]:
        """Claims of a group, and the evidence of its record; nothing runs.

        Raises:
            AnabranchError: a file of the group or of the record is wrong.

        """

    def mutated(self, prepared: Prepared) -> Mutated | None:
        """A study under the mutations that it can have; None where nothing in it can be broken on purpose."""
        del prepared
        return None

    def grown(self, prepared: Prepared, record: Record, cells: int, context: Context) -> tuple[Prepared, Kept]:
        """A study that runs only the cells that its record lacks, after so many of those that it has have run again.

        Raises:
            AnabranchError: the record's cells cannot stay.

        """
        del record, cells, context
        why = "it is short, and runs as a whole" if self.modelled else self.unchecked
        raise AnabranchError(f"{prepared.group.label}: --grow: {why}; leave --grow out")

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """Some cells of a record, run again; none where values are not modelled.

        Raises:
            AnabranchError: a file of the group or of the record is wrong, or a cell cannot be run.

        """
        from anabranch.reproduce.records.spot_check import SpotCheck

        del record, cells, context
        return SpotCheck(group, why_not=self.unchecked)
