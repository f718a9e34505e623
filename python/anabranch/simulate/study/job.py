"""One cell to run: enough to run it on any machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch._core import VERSION, Progress, Scenario
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.named import Own
from anabranch.simulate.runs.execute import execute
from anabranch.simulate.runs.own_cell import described, execute_own
from anabranch.simulate.runs.write import write


@dataclass(frozen=True)
class Job:
    """A cell to run."""

    text: str
    """The resolved scenario: every key with its value, and the digests of the files that it names."""
    file: str
    """File of the scenario, for messages; names of files in the scenario are relative to it."""
    identity: str
    files: tuple[tuple[str, str], ...]
    """The files that the scenario names: digest and path."""
    folder: Path
    words: str
    """Description of the cell for people."""
    own: Own | None = None
    """Scheme of one's own that runs instead of the scenario's."""
    version: str = VERSION

    @property
    def key(self) -> str:
        """Key by which a cluster tells this cell from others."""
        return self.identity if self.own is None else f"{self.identity}-{self.own.digest}"

    def scenario(self, copies: Mapping[str, str | Path] | None = None) -> Scenario:
        """Scenario of the cell; `copies` are files that it names, by digest, if they are elsewhere.

        Raises:
            AnabranchError: the scenario differs from the one of the machine where the job was made.

        """
        if self.version != VERSION:
            raise AnabranchError(
                f"at {self.words}: anabranch {VERSION} is here, {self.version} where the sweep runs; hint: install the "
                "same version everywhere"
            )
        try:
            scenario = Scenario(self.text, self.file, [], dict(copies or {}))
        except AnabranchError as error:
            raise AnabranchError(f"at {self.words}: {error}") from None
        if scenario.identity != self.identity:
            raise AnabranchError(
                f"at {self.words}: this machine resolves the scenario otherwise; hint: install the same version of "
                "anabranch everywhere"
            )
        return scenario


def run_here(job: Job, progress: Progress, command: Sequence[str], threads: int = 1) -> None:
    """Runs a cell and writes its folder.

    Args:
        job: The cell.
        progress: Progress of the run.
        command: The command line that started it.
        threads: Most threads that simulate it; a load balancer of one's own takes one.

    Raises:
        AnabranchError: it cannot be run; the message names the cell.

    """
    _run(job, job.scenario(), progress, job.folder, command, dict(job.files), threads)


def run_away(job: Job, command: Sequence[str], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Runs a cell and returns the files of its folder: workers need no file system in common.

    Args:
        job: The cell.
        command: The command line that started it.
        contents: Contents of the files that the scenario names, by digest.

    Raises:
        AnabranchError: it cannot be run; the message names the cell.

    """
    with tempfile.TemporaryDirectory() as scratch:
        copies = {}
        for digest, path in job.files:
            # The name's ending stays: it may say what kind of file it is.
            copies[digest] = Path(scratch) / f"{digest}-{Path(path).name}"
            copies[digest].write_bytes(contents[digest])
        folder = Path(scratch) / "cell"
        _run(job, job.scenario(copies), Progress(), folder, command, {})
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _run(
    job: Job,
    scenario: Scenario,
    progress: Progress,
    folder: Path,
    command: Sequence[str],
    files: Mapping[str, str],
    threads: int = 1,
) -> None:
    try:
        if job.own is None:
            executed = execute(scenario, progress, {"threads": threads})
        else:
            executed = execute_own(job.own, scenario, progress, files)
    except AnabranchError as error:
        raise AnabranchError(f"at {job.words}: {error}") from error
    write(scenario, executed, folder, command, False, {} if job.own is None else described(job.own, scenario))


def write_files(job: Job, files: Mapping[str, bytes]) -> None:
    """Writes the files that `run_away` has returned."""
    with written_whole(job.folder) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
