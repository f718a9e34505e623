"""`anabranch control`: follow a fabric of switches of several targets, and keep it at its plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install

if TYPE_CHECKING:
    from anabranch.deploy.control.state import Snapshot
    from anabranch.deploy.service.unit import Service

STATUS_NOT_AS_PLANNED = 1
TIMEOUT_S = 10.0
MISSING = "FABRIC.toml: missing; give the fabric file, or --replay with a recording"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(control)


def control(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FABRIC.toml", help="The fabric file; `docs/control.md` describes it. Required but for --replay."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Bring all switches to the plan, and exit.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, change nothing, and exit.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help=f"The time that --once and --dry-run wait for switches, in seconds. Default: {TIMEOUT_S:g}.",
        ),
    ] = None,
    as_wired: Annotated[
        bool,
        typer.Option(
            "--as-wired",
            help="Plan for the cables that LLDP frames find, under the names and with the rates of the file's links.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what switches say, and the planned weights, to a new file of JSON lines.",
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plan again from a recording, without switches, and print where a plan differs."
        ),
    ] = None,
    json: Json = None,
) -> int:
    """Follow the links of a fabric, and keep its switches at the plan.

    Runs until SIGTERM, which leaves the rules in place; SIGHUP reads the file anew. The status is 75 if an address of
    `[listen]` cannot be listened at. With --once or --dry-run it is 1 if a switch cannot be reached or does not take
    its plan, with --once also if a cable leads elsewhere than the file says. With --replay it is 1 if a plan is not as
    recorded.
    """
    if timeout is not None and not (once or dry_run):
        raise AnabranchError(f"timeout: {timeout:g}: only --once and --dry-run wait; give one of them, or leave it out")
    if replay is not None:
        if file is not None or once or dry_run or as_wired or record is not None:
            raise AnabranchError(f"replay: {replay}: the recording has its fabric file; leave out all else but --json")
        return _replay(replay, json)
    if file is None:
        raise AnabranchError(MISSING)
    import asyncio

    from anabranch.deploy.control import file as fabric_file

    fabric = fabric_file.read(file)
    if as_wired and dry_run:
        raise AnabranchError("as-wired: only where frames may be sent; leave out --dry-run, or take --once")
    if as_wired and fabric.takeover_s is not None:
        problem = "not with --as-wired: a secondary hears no cables"
        raise AnabranchError(f"{file}: redundancy.use: true: {problem}; leave out either")
    if as_wired and not fabric.wiring.use:
        raise AnabranchError(f"{file}: wiring.use: false: --as-wired needs the frames; leave out either")
    if record is not None and (once or dry_run):
        raise AnabranchError(f"record: {record}: only for a controller that follows; leave out --once and --dry-run")
    if not (once or dry_run):
        if json is not None:
            raise AnabranchError(
                f"json: {json}: only with --once or --dry-run; a running controller has the same at /status.json"
            )
        try:
            from anabranch.deploy.control.daemon import run
        except ModuleNotFoundError as error:
            raise AnabranchError(f"{error.name}: missing; {install('switches')}") from None
        from anabranch.deploy.control.log import start_log
        from anabranch.deploy.control.recording import Recorder, check

        if record is not None:
            check(fabric)
        recorder = None if record is None else Recorder(record)
        asyncio.run(run(fabric, start_log(), as_wired=as_wired, recorder=recorder))
        return 0
    from anabranch.deploy.control.exposure import exposures
    from anabranch.deploy.control.once import reconcile
    from anabranch.deploy.control.state import SECONDARY

    warnings = exposures(fabric)
    for exposure in warnings:
        typer.echo(f"warning: {exposure}", err=True)
    snapshot, lines = asyncio.run(reconcile(fabric, timeout or TIMEOUT_S, commits=not dry_run, as_wired=as_wired))
    if json is not None:
        from anabranch.deploy.control.pages import status
        from anabranch.files.terminal.json_document import write_json

        seen = {"fabric": str(file), "dry_run": dry_run, "lines": lines, "warnings": warnings}
        write_json(json, seen | status.record(snapshot))
    if json != "-":
        for line in lines:
            typer.echo(line)
        _print(snapshot, changed=not dry_run)
    wrong = any(
        not one.connected or one.role == SECONDARY or (one.differences and not dry_run) for one in snapshot.switches
    )
    return STATUS_NOT_AS_PLANNED if wrong or _doubtful(snapshot) or not snapshot.plans else 0


def service(given: Mapping[str, Any]) -> Service:
    """What a controller with these parameters takes as a service.

    Raises:
        AnabranchError: the fabric file is not as it must be, or an option is given that ends.

    """
    from anabranch.deploy.control import file as fabric_file
    from anabranch.deploy.control.switch_kind import kinds
    from anabranch.deploy.service.needs import INTERNET, Needs
    from anabranch.deploy.service.unit import Service

    unfit = [name for name in ("once", "dry_run", "timeout", "record", "replay", "json") if given[name]]
    if unfit:
        raise AnabranchError(f"{unfit[0].replace('_', '-')}: not for a service; leave it out")
    if given["file"] is None:
        raise AnabranchError(MISSING)
    fabric = fabric_file.read(Path(given["file"]))
    needs = INTERNET if fabric.http or fabric.openflow else Needs()
    for kind in kinds():
        if fabric.switches_of(kind.target):
            needs |= kind.needs(fabric)
    certificates = [] if fabric.tls is None else [fabric.tls.key, fabric.tls.certificate, fabric.tls.authority]
    file = str(given["file"])
    return Service(
        f"anabranch: controller of the fabric {file}",
        f"anabranch-control-{Path(file).stem}",
        needs,
        (file,),
        named=tuple(map(str, certificates)),
        is_watched=True,
    )


def _replay(file: Path, json: str | None) -> int:
    """Plays a recording back, and prints the result."""
    from anabranch.deploy.control.replay import replay

    result = replay(file)
    if json is not None:
        from dataclasses import asdict

        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"recording": str(file), **asdict(result)})
    if json != "-":
        for line in result.differences:
            typer.echo(line)
        cut = "; its last line is not whole, and is left out" if result.is_cut else ""
        verdict = f"{len(result.differences)} groups differ" if result.differences else "each as recorded"
        typer.echo(f"{result.records} records of {result.span_s:.1f} s, {result.plans} plans, {verdict}{cut}")
    return STATUS_NOT_AS_PLANNED if result.differences else 0


def _doubtful(snapshot: Snapshot) -> list[str]:
    """A sentence for each cable that may lead elsewhere than the file says."""
    from anabranch.deploy.control.cable import WAITING, WRONG

    return [cable.text for cable in snapshot.cables if cable.verdict in (*WRONG, WAITING)]


def _print(snapshot: Snapshot, *, changed: bool) -> None:
    from rich.table import Table

    from anabranch.deploy.control.state import SECONDARY
    from anabranch.files.terminal.console import terminal

    table = Table(box=None, pad_edge=False)
    for name, side in (("switch", "left"), ("groups", "right"), ("rules", "right"), ("meters", "right")):
        table.add_column(name, justify="right" if side == "right" else "left")
    table.add_column("changes made" if changed else "changes to make", justify="right")
    for one in snapshot.switches:
        counts = (str(one.groups), str(one.flows), str(one.meters)) if one.connected else ("-", "-", "-")
        changes = one.changes if changed else one.differences
        table.add_row(one.name, *counts, str(changes) if one.connected else "-")
    console = terminal()
    console.print(table)
    for one in snapshot.switches:
        if one.role == SECONDARY:
            console.print(f"{one.name}: another controller is its primary; nothing was changed", markup=False)
        elif one.last_error or not one.connected:
            console.print(f"{one.name}: {one.last_error or 'no answer'}", markup=False, soft_wrap=True)
    notes = _doubtful(snapshot) or _unchecked(snapshot, changed=changed)
    for note in notes:
        console.print(f"wiring: {note}", markup=False, soft_wrap=True)


def _unchecked(snapshot: Snapshot, *, changed: bool) -> list[str]:
    """Why nothing is known of cables, once for each reason."""
    from anabranch.deploy.control.cable import UNCHECKED

    reasons = [cable.text for cable in snapshot.cables if cable.verdict == UNCHECKED and cable.text]
    if reasons and not changed:
        return ["not known: --dry-run sends no frames; --once and a running controller check every cable"]
    return [f"not checked: {reason}" for reason in dict.fromkeys(reasons)]
