"""`anabranch reproduce`: published evaluations run again, each of their claims beside ours."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import REPRODUCE, Json
from anabranch.files.errors import AnabranchError
from anabranch.files.exit_status import STATUS_STOPPED

if TYPE_CHECKING:
    from anabranch.reproduce.claims.group import Group
    from anabranch.reproduce.session import Evaluated


STATUS_WRONG = 1
"""Status where ours contradicts theory: our code is wrong, whatever the papers say."""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="reproduce", rich_help_panel=REPRODUCE)(reproduce)


def study_names(incomplete: str) -> list[str]:
    """Papers and figure groups whose names begin so, for completion; a group once its paper is written."""
    known = [group.label if "/" in incomplete else group.paper for group in _groups()]
    return [word for word in dict.fromkeys(known) if word.startswith(incomplete)]


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY]...",
            help="A paper, or one of its figure groups: `luopan`, `luopan/fig9`.",
            autocompletion=study_names,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller fabrics, fewer seeds: minutes, not hours.")] = False,
    recorded: Annotated[bool, typer.Option("--recorded", help="Full runs, from their records; nothing runs.")] = False,
    record: Annotated[bool, typer.Option("--record", help="Keep a full run's numbers for `--recorded`.")] = False,
    grow: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With `--record`: keep the cells that the record has, if N of them are the same when they run again.",
        ),
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Break each named mechanism on purpose, and print which verdicts turn.")
    ] = False,
    spot_check: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Run N cells of each record again, drawn by chance, and compare their numbers."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; runs/reproduce if left out.")
    ] = None,
    json: Json = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table and no progress bar.")] = False,
) -> None:
    """Run published evaluations again: their claims, our numbers, and why they differ; what is there stays.

    `--recorded` prints in a second what full runs came to: the numbers are those kept in `studies/`, the verdicts are
    computed from them.

    `--mutations` runs the cells of a load balancer once more for each of its named mechanisms, with that mechanism
    broken, and prints the verdicts beside each other: a verdict that no mutation turns says nothing about the
    mechanism. With `--record` the table is kept beside the record, from a `--quick` run as well.

    A study that has more seeds than its record takes `--record --grow 8`: eight cells of the record run again, and if
    they are the same to the last bit, only those that it lacks run.

    `--spot-check` says whether a record still holds: with `--record` too, the record says so from then on.

    The status is 1 if ours contradicts theory: then our code is wrong, whatever the papers say; and if a number of a
    spot check is not the record's.
    """
    from anabranch.reproduce.selection import select

    if not studies and not everything:
        labels = ", ".join(group.label for group in _groups())
        raise AnabranchError(f"reproduce: no study; give --all, or some of {labels}")
    for other, given in (("--quick", quick), ("--record", record)):
        if recorded and given:
            raise AnabranchError(f"reproduce: {other}: --recorded runs nothing; leave one of the two out")
    others = {
        "--quick": quick,
        "--recorded": recorded,
        "--mutations": mutations,
        "--json": json,
        "--output": output,
        "--grow": grow,
    }
    for other, named in others.items():
        if spot_check is not None and named:
            raise AnabranchError(f"reproduce: {other}: --spot-check prints one line a study; leave one of the two out")
    if quick and record and not mutations:
        raise AnabranchError("reproduce: --quick: a record is of a full run; leave --quick or --record out")
    if grow is not None and (not record or quick or mutations):
        raise AnabranchError("reproduce: --grow: a record grows; give --record, and neither --quick nor --mutations")
    chosen = select(studies or [], everything, with_records=recorded or spot_check is not None)
    name = "all" if everything else "-".join(study.replace("/", "-") for study in studies or [])
    if record:
        from anabranch.reproduce.records.record import refuse_installed

        refuse_installed(chosen)
    if spot_check is not None:
        _spot_checked(chosen, spot_check, record, quiet)
        return
    kind = "-quick" if quick else "-recorded" if recorded else ""
    folder = output or Path("runs") / "reproduce"
    run = _Run(chosen, f"{name}{kind}", folder, json, quiet, quick, record, mutations, grow or 0)
    _show(run, _recalled(run) if recorded else _ran(run))


def _groups() -> list[Group]:
    from anabranch.reproduce.selection import groups

    return groups()


@dataclass(frozen=True)
class _Run:
    """What was asked for."""

    chosen: list[Group]
    name: str
    output: Path
    json: str | None
    quiet: bool
    quick: bool
    record: bool
    mutations: bool
    grow: int
    """Cells of each record that run again before it grows; 0 if it does not."""

    @property
    def silent(self) -> bool:
        """Whether stdout is to have nothing but the document."""
        return self.quiet or self.json == "-"


def _command() -> list[str]:
    return ["anabranch", *sys.argv[1:]]


def _spot_checked(chosen: list[Group], cells: int, record: bool, quiet: bool) -> None:
    from anabranch.files.terminal.console import terminal
    from anabranch.reproduce.backends.backend import Context
    from anabranch.reproduce.records.spot_check import keep
    from anabranch.reproduce.session import spot_check

    console = terminal()

    def report(text: str) -> None:
        if not quiet:
            console.print(text, markup=False, soft_wrap=True)

    wrong = False
    for one in spot_check(chosen, cells, Context(_command(), quiet, report)):
        for line in one.differing[1:]:
            report(f"{one.group.label}: {line}")
        wrong = wrong or bool(one.differing)
        if record and one.cells and not one.differing:
            keep(one)
    if wrong:
        raise typer.Exit(STATUS_WRONG)


def _recalled(run: _Run) -> list[Evaluated]:
    from anabranch.reproduce.session import recall

    return recall(run.chosen)


def _ran(run: _Run) -> list[Evaluated]:
    from anabranch.files.terminal.console import terminal
    from anabranch.reproduce import session
    from anabranch.reproduce.backends.backend import Context

    console = terminal()

    def report(text: str) -> None:
        if not run.silent:
            console.print(text, markup=False, soft_wrap=True)

    try:
        context = Context(_command(), run.silent, report)
        evaluated = session.run(run.chosen, run.output, run.quick, context, run.mutations, run.grow)
    except KeyboardInterrupt:
        typer.echo(f"{run.output}: stopped; the same command runs what is left", err=True)
        raise typer.Exit(STATUS_STOPPED) from None
    if run.record and not run.quick:
        session.record(evaluated, report)
    if run.record and run.mutations:
        session.record_mutations(evaluated, report)
    return evaluated


def _show(run: _Run, evaluated: list[Evaluated]) -> None:
    from anabranch.files.terminal.console import terminal
    from anabranch.reproduce.contradiction import contradictions
    from anabranch.reproduce.judge.line import FAILS
    from anabranch.reproduce.pages.mutation_table import show as show_mutations
    from anabranch.reproduce.pages.report import write
    from anabranch.reproduce.pages.table import show

    opposed = contradictions(evaluated)
    page = write(evaluated, run.output / run.name, f"Reproduction: {run.name}", _command())
    if run.json is not None:
        from anabranch.files.terminal.json_document import write_json
        from anabranch.reproduce.pages.document import document

        write_json(run.json, document(evaluated, [run.output / run.name] * len(evaluated), opposed))
    if not run.silent:
        console = terminal()
        for one in evaluated:
            one.evidence.show(console)
        console.print()
        show(evaluated, console)
        if run.mutations:
            show_mutations(evaluated, console)
        for contradiction in opposed:
            console.print(f"contradicts the record: {contradiction.text}", markup=False, soft_wrap=True)
        console.print(f"\nreport: {page}", markup=False, soft_wrap=True)
    failing = dict.fromkeys(
        f"{line.group}: a check of theory fails: {line.checked_by}"
        for one in evaluated
        for line in one.lines
        if line.check == FAILS
    )
    if run.silent:
        for text in failing:
            typer.echo(f"anabranch: {text}", err=True)
    if failing:
        raise typer.Exit(STATUS_WRONG)
