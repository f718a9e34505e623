"""Runs a cell of a study under a scheme of one's own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from anabranch._core import Progress, Scenario
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.named import Own, file_name, own_identity, own_name
from anabranch.simulate.own.program import Program
from anabranch.simulate.own.scheme import about, hooks
from anabranch.simulate.runs.execute import Executed, Watch, execute, watched
from anabranch.simulate.runs.folder import HASH_CHARACTERS
from anabranch.simulate.runs.own_program import execute_program
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.write import write


def execute_own(own: Own, scenario: Scenario, progress: Progress, copies: Mapping[str, str]) -> Executed:
    """Runs a scenario under a new object of the scheme, or in its program.

    Args:
        own: The scheme.
        scenario: The scenario, whose own balance gives way.
        progress: Progress of the run.
        copies: Files that the scenario names: paths by digest.

    Raises:
        AnabranchError: the scheme has failed; the message names its file, line and method.

    """
    if isinstance(own, Program):
        return execute_program(own, scenario, progress, copies)
    try:
        return execute(scenario, progress, hooks(own.scheme()))
    except AnabranchError as error:
        raise AnabranchError(f"{own.text}: {error}") from None
    except Exception as error:  # Whatever their author wrote.
        raise AnabranchError(f"{own.text}: {own.explained(error)}") from error


def own_folder(runs: Path, scenario: Scenario, own: Own) -> Path:
    """Folder of a run under a scheme of one's own: another source has another."""
    return runs / f"{scenario.name}-{file_name(own_name(own))}-{own_identity(own, scenario)[:HASH_CHARACTERS]}"


def simulate_own(own: Own, scenario: Scenario, file: str | Path, folder: Path, watch: Watch, csv: bool = False) -> Run:
    """Runs under a scheme of one's own, and writes the folder, whole or not at all.

    Raises:
        AnabranchError: the scheme has failed; the message names its file, line and method.

    """
    copies = {digest: str(Path(file).parent / path) for digest, path in scenario.named_files()}
    executed = watched(lambda progress: execute_own(own, scenario, progress, copies), watch)
    write(scenario, executed, folder, ["anabranch", *sys.argv[1:]], csv, described(own, scenario))
    return Run(folder)


def check_own(own: Own, scenario: Scenario) -> None:
    """Refuses a scenario under which the scheme cannot begin.

    Raises:
        AnabranchError: it cannot.

    """
    if isinstance(own, Program):
        return
    stopped = Progress()
    stopped.cancel()
    with suppress(KeyboardInterrupt):
        execute_own(own, scenario, stopped, {})


def described(own: Own, scenario: Scenario) -> dict[str, Any]:
    """Entries of the manifest that say what was run."""
    common = {"source": own.text, "digest": own.digest}
    scheme = {"name": own.name} if isinstance(own, Program) else about(own.scheme())
    return {"identity": own_identity(own, scenario), "scheme": {**scheme, **common}}
