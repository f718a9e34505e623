"""The page of all commands: the help of each, as the command prints it."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import patch

from typer.main import get_command

from anabranch.cli import app
from anabranch.cli.reference.markdown import GENERATED

WIDTH = 100

HEAD = f"""# Command line

{GENERATED}

Every command has `--help`, which prints what stands here. Exit statuses of all: 0 for success, 2 for bad input (one
line on standard error names the file, key and value, and gives a hint), 130 for Ctrl-C. Other statuses stand with the
command; 75 is that of a [service](services.md#starts-and-restarts) which may succeed later. What a verb prints as a
table it writes with `--json` as a document ([results.md](results.md#documents)).

Paths count from 1 in the order in which their weights are given, in tables, options, errors and documents alike. What a
switch, a table or a file numbers itself keeps its own numbers, which count from 0: buckets, slots, cells and turns,
nodes (`leaf0`), parallel links (`leaf0-spine1#0`), entries of a scenario (`traffic.0.load`). So do arrays in Python.
"""


def page() -> str:
    """The page `command-line.md`."""
    root = get_command(app)
    return HEAD + "".join(_section(path) for path in [(), *_paths(root, ())])


def _paths(group: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Words behind `anabranch` that name a command, in the order of the help."""
    context = group.context_class(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not command.hidden:
            yield (*path, name)
            if hasattr(command, "list_commands"):
                yield from _paths(command, (*path, name))


def _section(path: tuple[str, ...]) -> str:
    mark = "##" if len(path) < 2 else "###"
    return f"\n{mark} `{' '.join(('anabranch', *path))}`\n\n```text\n{_help(path)}\n```\n"


def _help(path: tuple[str, ...]) -> str:
    printed = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)}), redirect_stdout(printed):
        app(args=[*path, "--help"], prog_name="anabranch", standalone_mode=False)
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())
