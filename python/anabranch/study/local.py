"""Cells on the cores of this machine: threads suffice, because a run holds no interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from anabranch._core import Progress
from anabranch.errors import AnabranchError
from anabranch.runs.execute import WATCH_SECONDS
from anabranch.study.job import Job, run_here

Watch = Callable[[int, Sequence[Progress]], None]
"""Called now and then with the number of cells done and the state of those that run."""


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Failed = Callable[[Job, AnabranchError], None]
"""Called for a cell that cannot be run."""


def run_local(jobs: Sequence[Job], command: Sequence[str], watch: Watch, failed: Failed | None = None) -> None:
    """Runs all cells, one per core at a time; the first that fails, or Ctrl-C, ends the others.

    With `failed` the others go on.

    Raises:
        AnabranchError: a cell cannot be run, and there is no `failed`; finished cells stay.

    """
    workers = cores()
    with ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
        waiting = list(reversed(jobs))
        running: dict[Future[None], tuple[Job, Progress]] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    job, progress = waiting.pop(), Progress()
                    running[pool.submit(run_here, job, progress, command)] = job, progress
                ended, _ = wait(running, WATCH_SECONDS, FIRST_COMPLETED)
                # In the order of the cells: of several that failed, the first is named.
                for future in [future for future in running if future in ended]:
                    job, _ = running.pop(future)
                    try:
                        future.result()
                    except AnabranchError as error:
                        if failed is None:
                            raise
                        failed(job, error)
                    done += 1
                watch(done, [progress for _, progress in running.values()])
        except BaseException:
            for _, progress in running.values():
                progress.cancel()
            raise
