"""The console of a command's output."""

from __future__ import annotations

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 120


def terminal(json: str | None = None) -> Console:
    """Stdout, or stderr where stdout has the document of `--json -`; a file or a pipe is wide enough for the tables."""
    stderr = json == "-"
    console = Console(highlight=False, emoji=False, stderr=stderr)
    if console.is_terminal:
        return console
    return Console(highlight=False, emoji=False, stderr=stderr, width=WIDTH_WITHOUT_TERMINAL)
