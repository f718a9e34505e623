"""Help of the command line: every argument and option of every verb says what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from anabranch.cli import app


def parameters(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Parameters of a command and of all below it, with their command lines."""
    if hasattr(command, "list_commands"):
        context = command.make_context(name, [], resilient_parsing=True)
        for verb in command.list_commands(context):
            yield from parameters(command.get_command(context, verb), f"{name} {verb}")
    else:
        for parameter in command.params:
            yield f"{name} {parameter.name}", parameter


def test_every_argument_and_option_has_a_sentence() -> None:
    found = dict(parameters(typer.main.get_command(app), "anabranch"))
    assert len(found) > 150
    assert [name for name, parameter in found.items() if not (parameter.help or "").strip().endswith((".", ")"))] == []
