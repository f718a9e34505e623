"""Cells on the cores of this machine.

Threads suffice where a run holds no interpreter lock; schemes of one's own in Python run in processes, one at a time in
each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from anabranch._core import Progress
from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.run_progress import Watched
from anabranch.simulate.own.python_source import PythonSource
from anabranch.simulate.runs.execute import WATCH_SECONDS
from anabranch.simulate.study.cell_process import CellProcesses, ProcessProgress
from anabranch.simulate.study.job import Job, run_here

Watch = Callable[[int, Sequence[Watched]], None]
"""Called now and then with the number of cells done and the state of those that run."""


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Failed = Callable[[Job, AnabranchError], None]
"""Called for a cell that cannot be run."""


def run_local(
    jobs: Sequence[Job],
    command: Sequence[str],
    watch: Watch,
    failed: Failed | None = None,
    at_once: int | None = None,
) -> None:
    """Runs all cells; the first that fails, or Ctrl-C, ends the others.

    A cell takes one core. Where fewer cells are left to begin than cores are free, these share the free cores.

    Args:
        jobs: The cells.
        command: The command line, for the manifests.
        watch: Called now and then.
        failed: Called for a cell that cannot be run, after which the others go on.
        at_once: Number of cores, and so of cells that run at the same time. Default: all cores.

    Raises:
        AnabranchError: a cell cannot be run, and there is no `failed`; finished cells stay.

    """
    free = at_once or cores()
    workers = min(free, max(1, len(jobs)))
    with CellProcesses() as processes, ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
        waiting = list(reversed(jobs))
        running: dict[Future[None], tuple[Job, Progress | ProcessProgress, int]] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and free > 0:
                    threads = max(1, free // len(waiting))
                    free -= threads
                    job = waiting.pop()
                    if workers > 1 and isinstance(job.own, PythonSource):
                        remote = ProcessProgress()
                        running[pool.submit(processes.run, job, remote, command)] = job, remote, threads
                    else:
                        here = Progress()
                        running[pool.submit(run_here, job, here, command, threads)] = job, here, threads
                ended, _ = wait(running, WATCH_SECONDS, FIRST_COMPLETED)
                # In the order of the cells: of several that failed, the first is named.
                for future in [future for future in running if future in ended]:
                    job, _, threads = running.pop(future)
                    free += threads
                    try:
                        future.result(0)
                    except AnabranchError as error:
                        if failed is None:
                            raise
                        failed(job, error)
                    done += 1
                watch(done, [progress for _, progress, _ in running.values()])
        except BaseException:
            for _, progress, _ in running.values():
                progress.cancel()
            raise
