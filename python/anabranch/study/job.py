"""One cell to run: enough to run it on any machine that has the files its scenario names."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch._core import AnabranchError, Progress, Scenario
from anabranch.runs.execute import execute
from anabranch.runs.folder import written_whole
from anabranch.runs.run import write


@dataclass(frozen=True)
class Job:
    """A cell."""

    text: str
    file: str
    overrides: tuple[tuple[str, str], ...]
    identity: str
    folder: Path
    words: str
    """The cell for people."""

    def scenario(self) -> Scenario:
        """The cell's scenario.

        Raises:
            AnabranchError: it is another one than where the job was made.

        """
        scenario = Scenario(self.text, self.file, list(self.overrides))
        if scenario.identity != self.identity:
            raise AnabranchError(
                f"{self.words}: this machine resolves the scenario otherwise; install the same version of anabranch, "
                "and the same files that the scenario names, everywhere"
            )
        return scenario


def run_here(job: Job, progress: Progress, command: Sequence[str]) -> None:
    """Runs a cell and writes its folder.

    Raises:
        AnabranchError: it cannot be run; the message names the cell.

    """
    _run(job, progress, job.folder, command)


def run_away(job: Job, command: Sequence[str]) -> dict[str, bytes]:
    """Runs a cell and returns the files of its folder: workers need no file system in common."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "cell"
        _run(job, Progress(), folder, command)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _run(job: Job, progress: Progress, folder: Path, command: Sequence[str]) -> None:
    scenario = job.scenario()
    try:
        executed = execute(scenario, progress)
    except AnabranchError as error:
        raise AnabranchError(f"at {job.words}: {error}") from None
    write(scenario, executed, folder, command, csv=False)


def write_files(job: Job, files: dict[str, bytes]) -> None:
    """Writes what `run_away` has returned."""
    with written_whole(job.folder) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
