"""The command `anabranch`: one file per verb, found by itself.

A verb is a module of this package with a function `register(app)`; its docstring is the verb's help. It is imported
when it runs, or when all are listed: what most verbs need takes longer to import than others take to run.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.__main__ import STATUS_STOPPED
from anabranch._core import VERSION
from anabranch.errors import AnabranchError

STATUS_BAD_INPUT = 2
VERBS = sorted(module.name for module in pkgutil.iter_modules(__path__))


class Verbs(TyperGroup):
    """The verbs, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names, in the order of the alphabet."""
        return VERBS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The verb of that name, if there is one."""
        # Of a name that is none, the suggestion in the error needs all.
        for name in [cmd_name] if cmd_name in VERBS else VERBS:
            if name not in self.commands:
                verb = typer.Typer(rich_markup_mode=None, add_completion=False)
                importlib.import_module(f"{__name__}.{name}").register(verb)
                self.commands.update(typer.main.get_group(verb).commands)
        return self.commands.get(cmd_name)


app = typer.Typer(
    name="anabranch",
    cls=Verbs,
    help="Split real connections over weighted network paths, and see the split you will really get.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anabranch {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Split real connections over weighted network paths, and see the split you will really get."""


def fail(message: object) -> int:
    """Prints `message` as an error; returns the exit status of bad input."""
    from rich.console import Console

    Console(stderr=True, highlight=False, emoji=False, soft_wrap=True).print(
        f"anabranch: error: {message}", markup=False
    )
    return STATUS_BAD_INPUT


def main() -> None:
    """Runs the command line; bad input ends in one line on stderr and status 2, never in a traceback."""
    try:
        status = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
    except AnabranchError as error:
        status = fail(error)
    except typer.Abort:
        status = STATUS_STOPPED
    except typer.TyperException as error:
        status = fail(error.format_message())
    except KeyboardInterrupt:
        status = STATUS_STOPPED
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        status = fail(f"{name}{error.strerror or error}")
    sys.exit(status if isinstance(status, int) else 0)
