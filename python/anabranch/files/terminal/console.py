"""The console of a command's output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from anabranch.files.terminal.visible import visible

WIDTH_WITHOUT_TERMINAL = 120


class SafeConsole(Console):
    """Console that shows the control characters and brackets in what it prints, which may come from anybody's files.

    Those of its own styles and bars remain.
    """

    def __init__(self, **settings: Any) -> None:
        """Makes a console for which `[red]` in a name is no style."""
        super().__init__(markup=False, **settings)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Prints; of texts the control characters that rich would drop are shown too."""
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Text of a cell, measured as it is shown."""
        return super().render_str(visible(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments, those of cells and bars included."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def terminal(json: str | None = None) -> Console:
    """Stdout, or stderr where stdout has the document of `--json -`; a file or a pipe is wide enough for the tables."""
    stderr = json == "-"
    console = SafeConsole(highlight=False, emoji=False, stderr=stderr)
    if console.is_terminal:
        return console
    return SafeConsole(highlight=False, emoji=False, stderr=stderr, width=WIDTH_WITHOUT_TERMINAL)
