"""How long a study will take, told before it begins."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch._core import Progress
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.python_source import PythonSource
from anabranch.simulate.runs.execute import Executed, execute, watched
from anabranch.simulate.runs.folder import read_manifest
from anabranch.simulate.runs.own_cell import execute_own
from anabranch.simulate.runs.speed import HOPS_PER_SECOND
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.local import cores

DRAWN = 60
"""Cells that draw their flows: lists of a million flows take a second each."""
TRIAL_SECONDS = 0.3
"""Processor time from a cell's first packets on in which it is tried to learn its speed."""
TRIAL_HOPS_MIN = 1000
"""Packet-hops of a trial below which it says nothing."""


@dataclass(frozen=True)
class Forecast:
    """Work to do and the time for it."""

    packet_hops: float
    seconds: float
    measured: bool
    """Whether the speed is that of cells of the study that have run."""


def forecast(
    missing: Sequence[Job], done: Iterable[Path], at_once: int | None = None, *, trials: bool = False
) -> Forecast:
    """From the flow lists: what schemes add (probes, retransmissions) is not foreseen.

    Of many cells only some draw their flows for it: by chance, for even distances would meet one value of an axis.

    Args:
        missing: Cells to run.
        done: Folders of cells that have run, whose speed counts.
        at_once: Number of cells that run at the same time. Default: one per core.
        trials: Whether cells are tried for a moment: one where none has run, and one of each scheme in Python, which is
            many times slower than a scheme in Rust.

    """
    drawn = random.Random(0).sample(missing, min(DRAWN, len(missing)))
    hops = {job.folder: job.scenario().expected_packet_hops() for job in drawn}
    ran = [manifest for manifest in map(read_manifest, done) if manifest is not None and "scheme" not in manifest]
    cpu_s = sum(float(manifest["cpu_s"]) for manifest in ran)
    measured = cpu_s > 1
    speeds: dict[str | None, float] = {}
    if measured:
        speeds[None] = sum(int(manifest["packet_hops"]) for manifest in ran) / cpu_s
    for job in missing if trials else []:
        scheme = _scheme(job)
        if scheme not in speeds:
            speeds[scheme] = tried(job) or HOPS_PER_SECOND
    seconds = sum(hops[job.folder] / speeds.get(_scheme(job), HOPS_PER_SECOND) for job in drawn)
    more = len(missing) / max(1, len(drawn))
    return Forecast(sum(hops.values()) * more, seconds * more / (at_once or cores()), measured)


def tried(job: Job) -> float | None:
    """Packet-hops a second of a cell, run for a moment; None if it has said nothing by then.

    Drawing flows and building tables are no part of the speed unless the run has ended by then: they take as long
    however many packets follow.

    Raises:
        AnabranchError: its scheme has failed; the message names the cell.

    """
    marks: list[tuple[int, float]] = []

    def run(progress: Progress) -> Executed:
        if job.own is None:
            return execute(job.scenario(), progress)
        return execute_own(job.own, job.scenario(), progress, dict(job.files))

    def watch(progress: Progress) -> None:
        if progress.packet_hops:
            marks.append((progress.packet_hops, time.process_time()))
            if marks[-1][1] - marks[0][1] >= TRIAL_SECONDS:
                progress.cancel()

    try:
        executed = watched(run, watch)
        hops, cpu_s = int(executed.run.totals["packet_hops"]), executed.cpu_s
    except KeyboardInterrupt:
        if not marks or marks[-1][1] - marks[0][1] < TRIAL_SECONDS:
            raise
        hops, cpu_s = marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1]
    except AnabranchError as error:
        raise AnabranchError(f"at {job.words}: {error}") from None
    return hops / cpu_s if hops >= TRIAL_HOPS_MIN and cpu_s > 0 else None


def _scheme(job: Job) -> str | None:
    """Digest of a scheme whose speed is its own; None for all that run in Rust."""
    return job.own.digest if isinstance(job.own, PythonSource) else None
