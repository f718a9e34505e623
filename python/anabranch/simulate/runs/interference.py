"""`anabranch.interference`: how much longer the steps of jobs take because of the other jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.run import run
from anabranch.simulate.stats.interference import JobCost, SharedLink, job_costs, shared_links

FILE = "interference.json"


@dataclass(frozen=True)
class Interference:
    """What jobs cost each other. `anabranch run --apart` leaves it in the folder of the run, as `interference.json`."""

    jobs: list[JobCost]
    """One for each job that begins."""
    links: list[SharedLink] | None
    """Links that jobs share, most shared first; None where other traffic hides whose bytes they carry."""
    apart: dict[int, str]
    """Folder of each job's run without the others, beside the folder of the run."""


def interference(
    scenario: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Iterable[tuple[str, str]] = (),
    *,
    runs: str | Path = "runs",
    again: bool = False,
    progress: bool = True,
) -> Interference:
    """Simulates all jobs of a scenario together, then each without the others, and compares.

    A job is a `[[traffic]]` of kind `graph`. Each keeps its hosts and its random draws, since the others are there but
    never begin (`idle`); traffic of other kinds is the same in all runs.

    Args:
        scenario: A TOML file, an `ab.Scenario`, or a dict of the same keys.
        overrides: Keys to change, as in `{"routing.balance": "spray"}`.
        runs: Folder of all results.
        again: Run even if there are results of the same scenario and model.
        progress: Draw progress on stderr if that is a terminal.

    Raises:
        AnabranchError: the scenario is wrong or has fewer than two jobs, or results cannot be written.

    """
    pairs = overrides if isinstance(overrides, Mapping) else list(overrides)
    together = run(scenario, pairs, runs=runs, again=again, progress=progress)
    return compared(together, scenario, pairs, runs=runs, again=again, progress=progress)


def compared(
    together: Run,
    scenario: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Iterable[tuple[str, str]],
    *,
    runs: str | Path,
    again: bool = False,
    progress: bool = True,
) -> Interference:
    """Compares a run of this scenario with one of each job without the others, and notes it in the run's folder."""
    traffic = together.scenario["traffic"]
    graphs = check_jobs(traffic)
    apart: dict[int, Run] = {}
    for job, own in graphs.items():
        idle = {f"traffic.{entry}.idle": True for entry in graphs.values() if entry != own}
        if isinstance(overrides, Mapping):
            changed: Any = {**overrides, **idle}
        else:
            changed = [*overrides, *((key, literal(value)) for key, value in idle.items())]
        apart[job] = run(scenario, changed, runs=runs, again=again, progress=progress)
    only = all(entry["kind"] == "graph" for entry in traffic)
    outcome = Interference(
        job_costs(together.steps, {job: one.steps for job, one in apart.items()}),
        shared_links(together.topology, {job: one.ports for job, one in apart.items()}) if only else None,
        {job: one.folder.name for job, one in apart.items()},
    )
    write_whole(together.folder / FILE, json.dumps(asdict(outcome), indent=1))
    return outcome


def check_jobs(traffic: list[dict[str, Any]]) -> dict[int, int]:
    """Entry of `[[traffic]]` of each job that begins, by the job's number.

    Raises:
        AnabranchError: there are fewer than two.

    """
    entries = [number for number, entry in enumerate(traffic) if entry["kind"] == "graph"]
    begin = {job: entry for job, entry in enumerate(entries) if not traffic[entry]["idle"]}
    if len(begin) < 2:
        raise AnabranchError(
            f"--apart: {len(begin)} of the scenario's {len(entries)} jobs begin, so that none has others beside it; "
            'give two [[traffic]] of kind = "graph" that are not idle'
        )
    return begin


def noted(run_: Run) -> Interference | None:
    """What an earlier comparison left in the folder of a run; None if there was none."""
    try:
        values = json.loads((run_.folder / FILE).read_text(encoding="utf-8"))
    except OSError:
        return None
    links = values["links"]
    return Interference(
        [JobCost(**one) for one in values["jobs"]],
        None
        if links is None
        else [SharedLink(**{**one, "bytes": {int(k): v for k, v in one["bytes"].items()}}) for one in links],
        {int(job): name for job, name in values["apart"].items()},
    )
