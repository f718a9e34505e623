"""A progress bar on stderr for a pass over a trace that lasts."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from anabranch.files.terminal.console import SafeConsole

SHOWN_AFTER_SECONDS = 2.0


class PassProgress:
    """Draws packets, rate and time left; nothing before two seconds, and nothing where stderr is no terminal."""

    def __init__(self, name: str, quiet: bool) -> None:
        self._console = SafeConsole(stderr=True, emoji=False)
        self._is_drawn = self._console.is_terminal and not quiet
        self._name = name
        self._began = time.monotonic()
        self._drawn: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> PassProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def __call__(self, packets: int, done: int, total: int | None) -> None:
        """Draws the state of the pass: packets so far, and how much of the source is read."""
        seconds = time.monotonic() - self._began
        if not self._is_drawn or seconds < SHOWN_AFTER_SECONDS:
            return
        if self._drawn is None:
            self._drawn = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._drawn.add_task(self._name, total=total, rate="")
            self._drawn.start()
        rate = f"{packets / 1e6:.1f} million packets, {packets / seconds / 1e6:.1f} million/s"
        self._drawn.update(self._task, completed=done, rate=rate)
