"""The command `anabranch`: one file per verb in `verbs`, found by itself.

A verb is a module with a function `register(app)`; its docstring is the verb's help, its panel one of
`GROUPS`. It is imported when it runs, or when all are listed, so what it needs is imported in its functions: help and
completion load no more than typer.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.cli import verbs
from anabranch.files.errors import AnabranchError, UnavailableError
from anabranch.files.exit_status import STATUS_BAD_INPUT, STATUS_STOPPED, STATUS_UNAVAILABLE

VERBS = sorted(module.name for module in pkgutil.iter_modules(verbs.__path__))

SIMULATE, SPLIT, DEPLOY, REPRODUCE, MACHINE = "Simulate", "Split", "Plan and deploy", "Reproduce", "Machine"
GROUPS = (SIMULATE, SPLIT, DEPLOY, REPRODUCE, MACHINE)
"""Tasks of people, in the order of the help."""

SHORT_HELP_CHARACTERS = 200
"""More than a first sentence has, so that none is cut."""

Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write everything as JSON; `-` is stdout, in place of the table."),
]
"""The option of every verb that prints a table."""

ABOUT = (
    "Split traffic over weighted paths: simulate load balancers, see the split of real connections, "
    "plan and program real switches, and reproduce published results."
)


class Verbs(TyperGroup):
    """The verbs, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names, in the order of the alphabet."""
        return VERBS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The verb of that name, if there is one."""
        # An unknown name loads all verbs, which the suggestion in the error needs.
        for name in [cmd_name] if cmd_name in VERBS else VERBS:
            if name not in self.commands:
                verb = typer.Typer(rich_markup_mode=None, add_completion=False)
                importlib.import_module(f"{verbs.__name__}.{name}").register(verb)
                self.commands.update(typer.main.get_group(verb).commands)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the verbs under the headings of what people do."""
        commands = {name: self.get_command(ctx, name) for name in VERBS}
        width = max(map(len, VERBS))
        for group in GROUPS:
            with formatter.section(group):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(SHORT_HELP_CHARACTERS))
                        for name, command in commands.items()
                        if command.rich_help_panel == group
                    ]
                )


app = typer.Typer(
    name="anabranch",
    cls=Verbs,
    help=ABOUT,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        from anabranch._core import VERSION

        typer.echo(f"anabranch {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""


def fail(message: object) -> int:
    """Prints `message` as an error; returns the exit status of bad input."""
    from anabranch.files.terminal.console import SafeConsole
    from anabranch.files.terminal.visible import one_line, shortened

    SafeConsole(stderr=True, highlight=False, emoji=False, soft_wrap=True).print(
        f"anabranch: error: {shortened(one_line(str(message)))}", markup=False
    )
    return STATUS_BAD_INPUT


def main() -> None:
    """Runs the command line; bad input ends in one line on stderr and status 2, never in a traceback."""
    try:
        status = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
    except UnavailableError as error:
        fail(error)
        status = STATUS_UNAVAILABLE
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
