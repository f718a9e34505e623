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

    Args:
        jobs: The cells.
        command: The command line, for the manifests.
        watch: Called now and then.
        failed: Called for a cell that cannot be run, after which the others go on.
        at_once: Number of cells that run at the same time. Default: one per core.

    Raises:
        AnabranchError: a cell cannot be run, and there is no `failed`; finished cells stay.

    """
    workers = min(at_once or cores(), max(1, len(jobs)))
    with CellProcesses() as processes, ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
        waiting = list(reversed(jobs))
        running: dict[Future[None], tuple[Job, Progress | ProcessProgress]] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    job = waiting.pop()
                    if workers > 1 and isinstance(job.own, PythonSource):
                        remote = ProcessProgress()
                        running[pool.submit(processes.run, job, remote, command)] = job, remote
                    else:
                        here = Progress()
                        running[pool.submit(run_here, job, here, command)] = job, here
                ended, _ = wait(running, WATCH_SECONDS, FIRST_COMPLETED)
                # In the order of the cells: of several that failed, the first is named.
                for future in [future for future in running if future in ended]:
                    job, _ = running.pop(future)
                    try:
                        future.result(0)
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
