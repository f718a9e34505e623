"""`anabranch doctor`: what this machine can and cannot do, each with a hint."""

from __future__ import annotations

from dataclasses import asdict

import typer

from anabranch.cli import MACHINE, Json

STATUS_LACKING = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=MACHINE)(doctor)


def doctor(json: Json = None) -> None:
    """Check what this machine can do, and say how to fix what it cannot.

    The status is 1 if `anabranch split` cannot run well.
    """
    from rich.table import Table
    from rich.text import Text

    from anabranch.cli.machine import examine
    from anabranch.files.terminal.console import SafeConsole

    findings = list(examine())
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"findings": [asdict(finding) for finding in findings]})
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(4):
        table.add_column(overflow="fold")
    marks = {True: Text("ok", "green"), False: Text("no", "red"), None: Text("lacks", "yellow")}
    for finding in findings:
        hint = Text() if finding.ok is True else Text(finding.hint)
        table.add_row(marks[finding.ok], Text(finding.what), Text(finding.found), hint)
    if json != "-":
        SafeConsole(highlight=False, emoji=False).print(table)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(STATUS_LACKING)
