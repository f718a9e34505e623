"""The command `anabranch`: one file per verb, found by itself.

A verb is a module of this package with a function `register(app)`; its docstring is the verb's help.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from anabranch import AnabranchError, __version__

STATUS_BAD_INPUT = 2

app = typer.Typer(
    name="anabranch",
    help="Split real connections over weighted network paths, and see the split you will really get.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anabranch {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Split real connections over weighted network paths, and see the split you will really get."""


def _register_verbs() -> None:
    if app.registered_commands:
        # `main` runs many times in one process of the tests; each verb twice would double the cost of every run.
        return
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        verb: Any = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(verb, "register"):
            verb.register(app)


def fail(message: object) -> int:
    """Prints `message` as an error; returns the exit status of bad input."""
    Console(stderr=True, highlight=False, emoji=False, soft_wrap=True).print(
        f"anabranch: error: {message}", markup=False
    )
    return STATUS_BAD_INPUT


def main() -> None:
    """Runs the command line; bad input ends in one line on stderr and status 2, never in a traceback."""
    _register_verbs()
    try:
        status = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
    except AnabranchError as error:
        status = fail(error)
    except typer.Abort:
        status = 130
    except typer.TyperException as error:
        status = fail(error.format_message())
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        status = fail(f"{name}{error.strerror or error}")
    sys.exit(status if isinstance(status, int) else 0)
