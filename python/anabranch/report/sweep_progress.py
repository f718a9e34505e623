"""Progress of a sweep, drawn on stderr."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from anabranch import _core
from anabranch.report.run_progress import SHOWN_AFTER_SECONDS, fraction

REMEMBERED_SECONDS = 120.0
"""Of speed, for the time left: cells of one sweep differ."""


class SweepProgress:
    """Cells done, those that run counted by their parts, and the time left."""

    def __init__(self, name: str, cells: int, quiet: bool) -> None:
        console = Console(stderr=True, emoji=False, highlight=False)
        self._wanted = console.is_terminal and not quiet and cells > 0
        self._name, self._cells = name, cells
        self._began = time.monotonic()
        self._task: TaskID | None = None
        self._drawn = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[done]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            speed_estimate_period=REMEMBERED_SECONDS,
        )

    def __enter__(self) -> SweepProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._drawn.stop()

    def __call__(self, done: int, running: Sequence[_core.Progress]) -> None:
        """Draws how far the sweep is."""
        if not self._wanted or time.monotonic() - self._began < SHOWN_AFTER_SECONDS:
            return
        if self._task is None:
            self._task = self._drawn.add_task(self._name, total=self._cells, done="")
            self._drawn.start()
        completed = done + sum(map(fraction, running))
        self._drawn.update(self._task, completed=completed, done=f"{done} of {self._cells} cells")
