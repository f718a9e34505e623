"""Progress of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.files.terminal.bar import Bar
from anabranch.files.terminal.run_progress import Watched, fraction

REMEMBERED_SECONDS = 120.0
"""Time in seconds over which speed is measured, for the time left: cells of one sweep differ."""


class SweepProgress(Bar):
    """Number of finished cells, with the running ones counted by their parts, and the time left."""

    def __init__(self, name: str, cells: int, quiet: bool) -> None:
        super().__init__(name, cells, quiet, REMEMBERED_SECONDS)
        self._cells = cells

    def __call__(self, done: int, running: Sequence[Watched]) -> None:
        """Draws the progress of the sweep."""
        self.draw(done + sum(map(fraction, running)), f"{done} of {self._cells} cells")
