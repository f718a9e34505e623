"""`anabranch run`: a scenario simulated packet by packet."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch._core import Scenario
    from anabranch.simulate.own.named import Own

STATUS_NO_PATH = 1

TRACED_EVENTS = 100_000
"""Most events of each kind in a trace whose scenario does not say how many."""

Override = Annotated[
    list[str] | None,
    typer.Option(
        "-o", metavar="KEY=VALUE", help="Change a key of the scenario, as in `-o traffic.load=0.6`; repeatable."
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="SIZE,SIZE,...", help="The bounds of the size classes of flows. Default: 100 KB,10 MB."),
]
Runs = Annotated[Path, typer.Option(metavar="DIR", help="The directory for the folders of results.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no table and no progress.")]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(run)


def run(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.")],
    override: Override = None,
    runs: Runs = Path("runs"),
    again: Annotated[bool, typer.Option("--again", help="Run again even if the results are there already.")] = False,
    apart: Annotated[
        bool,
        typer.Option(
            "--apart",
            help='Run each job (`[[traffic]]` of `kind = "graph"`) without the others too, and print how much longer '
            "its steps take because of them, and which links they share.",
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV files beside the Parquet files.")] = False,
    classes: Classes = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a trace for Perfetto too, as in `--trace run.pftrace`. It sets `record.events` to "
            f"{TRACED_EVENTS} unless the scenario has it, so that the results have a folder of their own.",
        ),
    ] = None,
    fct: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write completion times in the columns of HPCC and conweave-ns3 too: addresses, ports, bytes, start, "
            "completion and ideal time in nanoseconds, a line for each flow that has finished.",
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Show the run on a page while it goes on: its fabric by intervals of `record.interval`, its progress, "
            "and at the end its report. The address is printed first; users of this machine can open it, no others.",
        ),
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="The port of the live page. Default: a free one.")
    ] = 0,
    threads: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="The most threads that simulate. The results are the same for any number; one thread simulates what "
            "several cannot, or would not finish sooner.",
        ),
    ] = 1,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a scenario packet by packet, and write the results to RUNS/NAME-HASH.

    A load balancer of your own runs by `routing.balance = "FILE.py:CLASS"` or `"crate:FOLDER"`, in the scenario file or
    after `-o` (`docs/own-scheme.md`).
    `docs/results.md` describes the columns. The status is 1 if no path joins the hosts of any flow, so that no flow
    could finish.
    """
    from anabranch.files.terminal.console import terminal
    from anabranch.files.toml_document import parse_toml
    from anabranch.simulate.own.override import taken_out, taken_out_of_file
    from anabranch.simulate.runs.folder import check_writable, read_manifest, run_folder
    from anabranch.simulate.runs.load import load, parse_overrides
    from anabranch.simulate.runs.own_cell import own_folder, simulate_own
    from anabranch.simulate.runs.results import Run

    pairs, own = taken_out(parse_overrides(override or ()), Path())
    in_place, of_file = taken_out_of_file(scenario, [key for key, _ in pairs])
    pairs, own = [*in_place, *pairs], own or of_file
    check_live(live, port, own)
    loaded = load(scenario, pairs)
    if apart:
        check_apart(loaded, own)
    if trace is not None:
        from anabranch.simulate.runs.timeline.target import check_target

        check_target(trace)
        if "events" not in parse_toml(loaded.resolved_toml(), scenario)["record"]:
            pairs.append(("record.events", str(TRACED_EVENTS)))
            loaded = load(scenario, pairs)
    folder = run_folder(runs, loaded) if own is None else own_folder(runs, loaded, own)
    present = not again and read_manifest(folder) is not None
    if not present:
        check_writable(runs)
    # Polars and SciPy take a while to load: not before the scenario is known to be good.
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.terminal.run_progress import RunProgress
    from anabranch.report.tables.offered_table import show_before
    from anabranch.report.tables.run_table import show
    from anabranch.simulate.runs.execute import Watch, together
    from anabranch.simulate.runs.run import simulate
    from anabranch.simulate.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes

    quiet = quiet or json == "-"
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    console = terminal()
    if present:
        outcome = Run(folder)
        if json != "-":
            console.print(f"{folder}: complete, not run again; --again runs it\n", markup=False, soft_wrap=True)
    else:
        if not quiet:
            show_before(loaded, console)
        with ExitStack() as beside:
            watches: list[Watch] = []
            if live:
                from anabranch.report.live.live_run import LiveRun

                page = beside.enter_context(LiveRun(loaded, port))
                typer.echo(f"live: {page.address}", err=True)
                watches.append(page.watch)
            with RunProgress(loaded.name, quiet) as bar:
                watches.append(bar)
                if own is None:
                    outcome = simulate(loaded, folder, together(watches), csv, threads)
                else:
                    outcome = simulate_own(own, loaded, scenario, folder, together(watches), csv)
            if live:
                page.end(outcome, chosen)
    if apart:
        from anabranch.simulate.runs import interference

        costs = interference.compared(outcome, scenario, pairs, runs=runs, again=again, progress=not quiet)
    if json is not None:
        from anabranch.report.tables.run_record import record

        write_json(json, record(outcome, chosen))
    if not quiet:
        show(outcome, chosen, console)
        if threads > 1 and not present:
            console.print(f"\n{threads_line(outcome.manifest)}", markup=False, soft_wrap=True)
        if apart:
            from anabranch.report.tables.interference_table import show_interference

            console.print()
            show_interference(costs, console)
    if trace is not None:
        outcome.trace(trace)
        if not quiet:
            typer.echo(f"trace: {trace}; open it at https://ui.perfetto.dev")
    if fct is not None:
        from anabranch.simulate.runs.fct_lines import write_fct

        finished = write_fct(outcome.flows, fct)
        if not quiet:
            typer.echo(f"completion times of {finished} flows: {fct}")
    flows = int(outcome.manifest["flows_total"])
    if flows and outcome.manifest["flows_unfinished"] == flows == loaded.severed_flows():
        typer.echo(f"{folder}: no path joins the hosts of any flow after the last change, and no flow ended", err=True)
        raise typer.Exit(STATUS_NO_PATH)


def threads_line(manifest: Mapping[str, Any]) -> str:
    """Threads that simulated a run, and what kept it on one."""
    if manifest.get("threads", 1) > 1:
        return f"threads: {manifest['threads']}"
    return f"threads: 1; several do not simulate {manifest.get('one_thread') or 'a load balancer of your own'}"


def check_apart(loaded: Scenario, own: Own | None) -> None:
    """Refuses a comparison of jobs that could show nothing.

    Raises:
        AnabranchError: fewer than two jobs, or a load balancer of one's own.

    """
    from anabranch.files.toml_document import parse_toml
    from anabranch.simulate.runs.interference import check_jobs

    if own is not None:
        raise AnabranchError(
            "--apart: not with a load balancer of one's own; take ab.interference in Python, or leave --apart out"
        )
    check_jobs(parse_toml(loaded.resolved_toml(), loaded.name)["traffic"])


def check_live(live: bool, port: int, own: Own | None) -> None:
    """Refuses a live page that could show nothing.

    Raises:
        AnabranchError: a port without a page, or a crate's program, which reports nothing before its end.

    """
    from anabranch.simulate.own.program import Program

    if port and not live:
        raise AnabranchError(f"--port: {port}: there is no live page; give --live too")
    if live and isinstance(own, Program):
        raise AnabranchError(
            f"--live: {own.text}: a crate's program reports nothing before its end, so that the page would stay empty; "
            "leave --live out"
        )
