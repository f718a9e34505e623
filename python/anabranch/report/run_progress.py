"""Progress of a simulation, drawn on stderr."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from anabranch import _core
from anabranch.report.format import count

SHOWN_AFTER_SECONDS = 1.0
PARTS = 1000
"""Steps of the bar; simulated time is a float."""


class RunProgress:
    """Percent of simulated time, packet-hops a second, flows done, time left.

    Nothing in the first second, and nothing where stderr is no terminal.
    """

    def __init__(self, name: str, quiet: bool) -> None:
        console = Console(stderr=True, emoji=False, highlight=False)
        self._wanted = console.is_terminal and not quiet
        self._name = name
        self._began = time.monotonic()
        self._task: TaskID | None = None
        self._drawn = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._drawn.stop()

    def __call__(self, progress: _core.Progress) -> None:
        """Draws how far the run is."""
        seconds = time.monotonic() - self._began
        if not self._wanted or seconds < SHOWN_AFTER_SECONDS:
            return
        if self._task is None:
            self._task = self._drawn.add_task(self._name, total=PARTS, rate="")
            self._drawn.start()
        rate = (
            f"{progress.packet_hops / seconds / 1e6:.1f} M packet-hops/s, "
            f"{count(progress.flows_finished)} of {count(progress.flows_total)} flows"
        )
        self._drawn.update(self._task, completed=PARTS * fraction(progress), rate=rate)


def fraction(progress: _core.Progress) -> float:
    """How far a run is, 0 to 1.

    By simulated time or by flows, whichever is further: a run ends at its last flow or at its end.
    """
    by_time = progress.simulated_s / progress.end_s if progress.end_s > 0 else 0.0
    by_flows = progress.flows_finished / progress.flows_total if progress.flows_total else 0.0
    return min(1.0, max(by_time, by_flows))
