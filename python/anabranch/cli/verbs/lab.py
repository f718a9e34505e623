"""`anabranch lab`: fabrics of real switches, kernels and TCP on this machine."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import MACHINE, Json
from anabranch.cli.verbs.run import Classes, Override, Quiet, Runs
from anabranch.deploy.targets.plan.options import target_names
from anabranch.deploy.targets.registry import DEFAULT, listed
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.lab.fabric.topology import Lab

Name = Annotated[str | None, typer.Option("--name", "-n", help="What to call the lab; the file's name if left out.")]

STATUS_NOT_USABLE = STATUS_WRONG = 1

AllowBusy = Annotated[
    bool, typer.Option("--allow-busy", help="End with status 0 even if the machine was too busy for the results.")
]

Switch = Annotated[
    str,
    typer.Option(
        metavar="KIND", help=f"Whose switches: {listed()}, where the target can.", autocompletion=target_names
    ),
]


def lab_names(incomplete: str) -> list[str]:
    """Labs of this machine whose names begin so, for completion."""
    from anabranch.lab.fabric import record

    return [name for name in record.names() if name.startswith(incomplete)]


def paper_names(incomplete: str) -> list[str]:
    """Papers with a study of the lab whose names begin so, for completion."""
    from anabranch.reproduce import lab as studies

    return [name for name in studies.papers() if name.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    lab = typer.Typer(help=__doc__.partition(": ")[2].strip().capitalize(), rich_markup_mode=None)
    lab.command()(up)
    lab.command()(run)
    lab.command()(down)
    lab.command(name="list")(list_labs)
    lab.command()(calibrate)
    lab.command()(reproduce)
    app.add_typer(lab, name="lab", rich_help_panel=MACHINE)


def up(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file whose fabric is built.")],
    name: Name = None,
    scale: Annotated[float, typer.Option(help="Multiply all rates: 0.01 makes 100 Mbps of 10 Gbps.")] = 1.0,
    switch: Switch = DEFAULT,
    tso: Annotated[bool, typer.Option("--tso", help="Segments pass switches whole: faster, less like links.")] = False,
    bfd: Annotated[
        str | None, typer.Option(metavar="TIME", help="BFD between switches at this interval, as in --bfd 10ms.")
    ] = None,
    control: Annotated[
        bool, typer.Option("--control", help="Run `anabranch control` for it until it is removed.")
    ] = False,
) -> None:
    """Make a scenario's fabric of namespaces, veth links and switches; what stands already stays. Needs root."""
    from anabranch.files.terminal.bar import Bar
    from anabranch.files.terminal.console import terminal
    from anabranch.lab.fabric.topology import Lab

    with Bar("making the lab", 1, quiet=False) as bar:

        def report(done: int, total: int) -> None:
            bar.draw(done / total, f"{done} of {total} hosts and switches")

        lab = Lab.up(scenario, name, scale=scale, switch=switch, tso=tso, bfd_ms=_milliseconds(bfd), progress=report)
    lines = _described(lab)
    if control:
        from anabranch.lab.fabric.controller import start

        start(lab)
        lines.append(f"controlled: http://{lab.record.http}/")
    console = terminal()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def run(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file whose flows are sent.")],
    override: Override = None,
    name: Name = None,
    scale: Annotated[float, typer.Option(help="Multiply all rates, and divide all times.")] = 1.0,
    switch: Switch = DEFAULT,
    runs: Runs = Path("runs"),
    classes: Classes = None,
    recipe: Annotated[str, typer.Option(help="Of Open vSwitch's groups; the scenario's if left out.")] = "",
    congestion_control: Annotated[str, typer.Option(help="Of Linux; the scenario's if left out.")] = "",
    beside_simulator: Annotated[
        bool, typer.Option("--beside-simulator", help="Simulate the same with the lab's delays, and compare.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="How many, beside the simulator.")] = 5,
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw both beside each other.")] = None,
    burst: Annotated[
        int | None, typer.Option(min=1, metavar="FRAMES", help="Links catch up by so many: 2 beside the simulator.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the lab up.")] = False,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Do not measure first what this machine can forward.")
    ] = False,
    allow_busy: AllowBusy = False,
    json: Json = None,
    quiet: Quiet = False,
) -> int:
    """Run a scenario over real TCP and real switches; results go to RUNS/NAME-HASH-lab. Needs root.

    The status is 1 if the machine was too busy for the results to be used.
    """
    from anabranch.files.terminal.console import terminal
    from anabranch.lab.run.beside import BURST_FRAMES
    from anabranch.lab.run.run import Choices
    from anabranch.lab.run.session import Request, run_beside, run_one
    from anabranch.simulate.runs.load import parse_overrides
    from anabranch.simulate.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes

    quiet = quiet or json == "-"
    if burst is None and beside_simulator:
        burst = BURST_FRAMES
    choices = Choices(recipe, congestion_control, burst)
    overrides = parse_overrides(override or ())
    request = Request(
        scenario, overrides, name, scale, switch, runs, choices, keep=keep, unchecked=unchecked, quiet=quiet
    )
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    if beside_simulator:
        pairs, machine = run_beside(request, seeds, chosen, terminal(json))
    else:
        ran, machine = run_one(request, chosen, terminal(json))
    if json is not None:
        from anabranch.files.terminal.json_document import write_json
        from anabranch.lab.run import document

        written = document.pairs(pairs, chosen, machine) if beside_simulator else document.one(ran, chosen, machine)
        write_json(json, written)
    if beside_simulator and figure is not None:
        from anabranch.lab.run.beside_figure import save

        save(pairs, chosen, figure)
    return 0 if machine.usable or allow_busy else STATUS_NOT_USABLE


def down(
    labs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LAB]...", help="The names of the labs to remove.", autocompletion=lab_names),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All labs.")] = False,
) -> None:
    """Remove labs, also half-made ones, and all that runs in them; one that is not there is no error."""
    from anabranch.lab.fabric import record
    from anabranch.lab.fabric.switching import lost_labs, remove_lost
    from anabranch.lab.fabric.topology import remove

    if bool(labs) == everything:
        raise AnabranchError("lab down: give the names of labs, or --all; `anabranch lab list` has them")
    for name in sorted({*record.names(), *lost_labs()}) if everything else labs or []:
        removed = [remove(name), remove_lost(name)]
        typer.echo(f"{name}: {'removed' if any(removed) else 'not there'}")


def list_labs(json: Json = None) -> None:
    """List the labs on this machine."""
    from anabranch.files.terminal.console import terminal
    from anabranch.lab.fabric.overview import labs, show

    rows = labs()
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"labs": rows})
    if json != "-":
        show(rows, terminal())


def calibrate(
    name: Annotated[str, typer.Argument(metavar="LAB", help="The name of the lab.", autocompletion=lab_names)],
    again: Annotated[bool, typer.Option("--again", help="Measure even if it has been.")] = False,
    json: Json = None,
) -> None:
    """Measure what this machine's switches forward, keep it with the lab: loads above it are refused. 20 s, idle."""
    from anabranch.files.terminal.bar import Bar
    from anabranch.files.terminal.console import terminal
    from anabranch.lab.calibration.calibrate import ceiling_of
    from anabranch.lab.calibration.ceiling_table import show
    from anabranch.lab.fabric.topology import Lab

    lab = Lab.open(name)
    with Bar("measuring", 1, quiet=False) as bar:
        ceiling = ceiling_of(
            lab, again=again, progress=lambda done, parts: bar.draw(done / parts, "what switches forward")
        )
    if json is not None:
        from anabranch.files.terminal.json_document import write_json
        from anabranch.lab.calibration.ceiling import document

        write_json(json, {"lab": name, **document(ceiling)})
    if json != "-":
        show(ceiling, terminal())


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER...", help="The papers to reproduce: names of studies of the lab.", autocompletion=paper_names
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials: three minutes at most.")] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Keep a full run's numbers for `reproduce --recorded`.")
    ] = False,
    minutes: Annotated[
        float,
        typer.Option(min=0, metavar="N", help="Begin no run after N minutes; the same command goes on from there."),
    ] = math.inf,
    allow_busy: AllowBusy = False,
    json: Json = None,
) -> int:
    """Run published evaluations again on real switches: their claims, what this machine measures, and verdicts.

    A full study is measured in as many pieces as it takes: each run is kept as it ends, and the same command goes on
    with the runs that are missing, among them those that other programs of the machine disturbed.

    The status is 1 if other programs disturbed a run, or ours contradicts theory. `--record` keeps each study as it
    ends, with the runs there are; those that were disturbed are left out unless `--allow-busy` is given.
    """
    from anabranch.files.terminal.console import terminal
    from anabranch.reproduce import lab as studies
    from anabranch.reproduce import session
    from anabranch.reproduce.judge.line import FAILS

    if not papers:
        raise AnabranchError(f"lab reproduce: no paper; take some of: {', '.join(studies.papers())}")
    if quick and record:
        raise AnabranchError("lab reproduce: --quick: a record is of a full run; leave --quick or --record out")
    if record:
        from anabranch.reproduce.records.record import refuse_installed

        refuse_installed(studies.of_lab(papers))

    def done(one: session.Evaluated) -> None:
        if record and (one.evidence.recordable or allow_busy):
            session.record([one], lambda text: terminal(json).print(text, markup=False, soft_wrap=True))

    piece = studies.Piece(quick, minutes, allow_busy)
    outcome = studies.reproduce(papers, piece, terminal(json), ["anabranch", *sys.argv[1:]], done)
    usable = all(one.evidence.usable for one in outcome) or allow_busy
    if json is not None:
        from anabranch.files.terminal.json_document import write_json
        from anabranch.reproduce.pages.document import document

        write_json(json, document(outcome, [studies.folder(one.group, quick) for one in outcome]))
    if any(line.check == FAILS for one in outcome for line in one.lines):
        return STATUS_WRONG
    return 0 if usable else STATUS_NOT_USABLE


def _milliseconds(text: str | None) -> int | None:
    if text is None:
        return None
    digits = text.removesuffix("ms").strip()
    # RFC 5880 has microseconds, Open vSwitch milliseconds (ovs-vswitchd.conf.db(5), bfd:min_tx).
    if not text.endswith("ms") or not digits.isdecimal() or not 1 <= int(digits) <= 10_000:
        raise AnabranchError(f"--bfd {text}: not a time from 1ms to 10000ms; write it as in 10ms")
    return int(digits)


def _described(lab: Lab) -> list[str]:
    lines = [
        f"{lab.name}: {len(lab.hosts)} hosts, {len(lab.switches)} switches, {len(lab.blueprint.cables)} links; "
        f"fabric for `anabranch control`: {lab.fabric_file}"
    ]
    if lab.scale != 1:
        lines.append(f"rates are the scenario's times {lab.scale:g}")
    if lab.blueprint.delay_ns:
        lines.append("delays are not emulated: links here take what the kernel and the switches take")
    return lines
