"""A bar of progress on stderr: percent, a line of text, time left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TypeVar

from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from anabranch.files.terminal.console import SafeConsole

SHOWN_AFTER_SECONDS = 1.0

Drawn = TypeVar("Drawn", bound="Bar")


class Bar:
    """Bar that `draw` draws; nothing in the first second, and nothing if stderr is no terminal."""

    def __init__(self, name: str, total: float, quiet: bool, remembered_seconds: float = 30.0) -> None:
        console = SafeConsole(stderr=True, emoji=False, highlight=False)
        self._is_drawn = console.is_terminal and not quiet and total > 0
        self._name, self._total = name, total
        self._began = time.monotonic()
        self._task: TaskID | None = None
        self._drawn = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            speed_estimate_period=remembered_seconds,
        )

    def __enter__(self: Drawn) -> Drawn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._drawn.stop()

    @property
    def seconds(self) -> float:
        """Seconds since it was created."""
        return time.monotonic() - self._began

    def draw(self, completed: float, text: str) -> None:
        """Draws that `completed` of the total is done."""
        if not self._is_drawn or self.seconds < SHOWN_AFTER_SECONDS:
            return
        if self._task is None:
            self._task = self._drawn.add_task(self._name, total=self._total, text="")
            self._drawn.start()
        self._drawn.update(self._task, completed=completed, text=text)
