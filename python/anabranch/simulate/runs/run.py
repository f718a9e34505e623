"""`anabranch.run`: a scenario simulated, its results in a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.named import own_name
from anabranch.simulate.own.override import own_balance
from anabranch.simulate.own.program import Program
from anabranch.simulate.own.python_source import PythonSource
from anabranch.simulate.runs.execute import Watch, execute_watched
from anabranch.simulate.runs.folder import check_writable, read_manifest, run_folder
from anabranch.simulate.runs.load import UNNAMED, load
from anabranch.simulate.runs.own_cell import own_folder, simulate_own
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.write import write

if TYPE_CHECKING:
    from anabranch.simulate.own.scheme import Scheme


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    overrides: Mapping[str, Any] | Iterable[tuple[str, str]] = (),
    *,
    scheme: Scheme | None = None,
    runs: str | Path = "runs",
    again: bool = False,
    csv: bool = False,
    progress: bool = True,
    threads: int = 1,
) -> Run:
    """Simulates a scenario, or opens its results if they exist already.

    Args:
        scenario: A TOML file, an `ab.Scenario`, or a dict of the same keys. Where it names a load balancer
            (`routing.balance`), and likewise in `overrides`, one of one's own may stand: a class, an object,
            `"FILE.py:CLASS"` or `"crate:FOLDER"`.
        overrides: Keys to change, as in `{"traffic.load": 0.6}`.
        scheme: A load balancer of one's own, instead of the scenario's: docs/own-scheme.md.
        runs: Folder of all results; those of this run go to `RUNS/NAME-HASH`.
        again: Run even if there are results of the same scenario and model.
        csv: Write CSV beside Parquet.
        progress: Draw progress on stderr if that is a terminal.
        threads: Most threads that simulate; the results are the same for any number. The manifest has how many did, and
            as `one_thread` what kept it on one: docs/threads.md.

    Raises:
        AnabranchError: the scenario is wrong, or results cannot be written.

    """
    if threads < 1:
        raise AnabranchError(f"threads: {threads}: at least one thread simulates; give 1 or more")
    if isinstance(scenario, Scenario):
        resolved, named = scenario, None
    else:
        without, changes, named = own_balance(scenario, overrides)
        resolved = load(without, changes)
    if named is not None and scheme is not None:
        raise AnabranchError(f"routing.balance: names a load balancer of one's own, and scheme={scheme.name}; give one")
    if isinstance(named, (PythonSource, Program)):
        folder = own_folder(Path(runs), resolved, named)
        if not again and read_manifest(folder) is not None:
            return Run(folder)
        check_writable(runs)
        file = getattr(scenario, "file", UNNAMED) if isinstance(scenario, Mapping) else scenario
        from anabranch.files.terminal.run_progress import RunProgress

        with RunProgress(f"{resolved.name}, {own_name(named)}", quiet=not progress) as watch:
            return simulate_own(named, resolved, str(file), folder, watch, csv)
    scheme = scheme or named
    if scheme is not None:
        from anabranch.simulate.runs.own_scheme import run_own

        return run_own(resolved, scheme, runs=runs, again=again, csv=csv, progress=progress)
    folder = run_folder(runs, resolved)
    if not again and read_manifest(folder) is not None:
        return Run(folder)
    check_writable(runs)
    from anabranch.files.terminal.run_progress import RunProgress

    with RunProgress(resolved.name, quiet=not progress) as watch:
        return simulate(resolved, folder, watch, csv, threads)


def simulate(scenario: Scenario, folder: Path, watch: Watch, csv: bool = False, threads: int = 1) -> Run:
    """Runs and writes the folder, whole or not at all."""
    executed = execute_watched(scenario, watch, {"threads": threads})
    write(scenario, executed, folder, ["anabranch", *sys.argv[1:]], csv)
    return Run(folder)
