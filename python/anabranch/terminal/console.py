"""The console of a command's output."""

from __future__ import annotations

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 120


def terminal() -> Console:
    """Stdout; wide enough for the tables where it is a file or a pipe."""
    console = Console(highlight=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL)
