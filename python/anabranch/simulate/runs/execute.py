"""Executes a scenario and measures its cost."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timezone
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anabranch._core import Progress, Scenario

if TYPE_CHECKING:
    from anabranch._core import Run
    from anabranch.simulate.runs.program_run import ProgramRun

WATCH_SECONDS = 0.1

Watch = Callable[[Progress], None]
"""Called now and then while a run lasts."""

NO_HOOKS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Executed:
    """A run that has ended, still in memory."""

    run: Run | ProgramRun
    started_at: str
    wall_s: float
    cpu_s: float
    """Processor time of the thread that ran it; of several threads, of the whole process meanwhile, and no more than
    these threads can have had."""
    peak_rss_bytes: int
    """Memory of the whole process so far: with other cells in it, it is not this run's alone."""


def execute(scenario: Scenario, progress: Progress, hooks: Mapping[str, Any] = NO_HOOKS) -> Executed:
    """Runs in this thread, without the interpreter lock. `hooks` are those of a scheme of one's own."""
    started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    wall, cpu = time.perf_counter(), time.thread_time()
    of_process = time.process_time()
    run = scenario.run(progress, **hooks)
    wall_s, cpu_s = time.perf_counter() - wall, time.thread_time() - cpu
    if run.threads > 1:
        cpu_s = min(time.process_time() - of_process, run.threads * wall_s)
    return Executed(run, started_at, wall_s, cpu_s, peak_rss_bytes())


def execute_watched(scenario: Scenario, watch: Watch, hooks: Mapping[str, Any] = NO_HOOKS) -> Executed:
    """Runs in a thread of its own, so that Ctrl-C and progress reach this one; Ctrl-C ends the run too."""
    return watched(lambda progress: execute(scenario, progress, hooks), watch)


def watched(run: Callable[[Progress], Executed], watch: Watch) -> Executed:
    """Calls `run` in a thread of its own; Ctrl-C cancels its progress. `watch` is called before it begins, too."""
    progress = Progress()
    watch(progress)
    with ThreadPoolExecutor(1, thread_name_prefix="run") as worker:
        running = worker.submit(run, progress)
        try:
            while not wait([running], WATCH_SECONDS).done:
                watch(progress)
        except BaseException:
            progress.cancel()
            raise
        watch(progress)
        return running.result(0)


def together(watches: Sequence[Watch]) -> Watch:
    """All watches as one."""

    def watch(progress: Progress) -> None:
        for one in watches:
            one(progress)

    return watch


def peak_rss_bytes() -> int:
    """Largest memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
