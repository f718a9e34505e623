"""Cells on the cores of this machine: threads suffice, for a run holds no interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from anabranch._core import Progress
from anabranch.runs.execute import WATCH_SECONDS
from anabranch.study.job import Job, run_here

Watch = Callable[[int, Sequence[Progress]], None]
"""Called now and then with the number of cells done and the state of those that run."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_local(jobs: Sequence[Job], command: Sequence[str], watch: Watch) -> None:
    """Runs all cells, one per core at a time; the first that fails, or Ctrl-C, ends the others.

    Raises:
        AnabranchError: a cell cannot be run; those that are done stay.

    """
    workers = cores()
    with ThreadPoolExecutor(workers, thread_name_prefix="cell") as pool:
        waiting = list(reversed(jobs))
        running: dict[Future[None], Progress] = {}
        done = 0
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    progress = Progress()
                    running[pool.submit(run_here, waiting.pop(), progress, command)] = progress
                ended, _ = wait(running, WATCH_SECONDS, FIRST_COMPLETED)
                # In the order of the cells: of several that failed, the first is named.
                for future in [future for future in running if future in ended]:
                    del running[future]
                    future.result()
                    done += 1
                watch(done, list(running.values()))
        except BaseException:
            for progress in running.values():
                progress.cancel()
            raise
