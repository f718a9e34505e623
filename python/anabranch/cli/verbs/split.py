"""`anabranch split`: the split you will really get, by every technique."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.cli import SPLIT, Json
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.split.trace import Trace


class TraceOrVerb(TyperGroup):
    """A group whose first word may also be a trace or an option: then the command without a name is meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the unnamed command in front of what is no command."""
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else ["trace", *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Hides the unnamed command's name from its usage line."""
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == "trace" else name), command, rest


def technique_names(incomplete: str) -> list[str]:
    """Techniques whose names begin so, for completion."""
    from anabranch.split.splitter import techniques

    return [technique.name for technique in techniques() if technique.name.startswith(incomplete)]


def hash_names(incomplete: str) -> list[str]:
    """Hashes whose names begin so, for completion."""
    from anabranch.split.splitter import hashes

    return [hash_.name for hash_ in hashes() if hash_.name.startswith(incomplete)]


verbs = typer.Typer(cls=TraceOrVerb, rich_markup_mode=None, add_completion=False)

Source = Annotated[
    str | None, typer.Argument(metavar="TRACE", help="The capture or flow list (CSV) to split; `-` is stdin.")
]
Generate = Annotated[
    str | None,
    typer.Option(metavar="KIND:N", help="Generate N connections instead of reading a trace, as in `datacenter:40000`."),
]
Seed = Annotated[int | None, typer.Option(help="The seed of the hash and of generated connections. Default: 0.")]
Direction = Annotated[
    str | None,
    typer.Option(
        help="What counts as one connection: `conversation` (both directions, the default) or `each` direction."
    ),
]
Encap = Annotated[
    str | None, typer.Option(help="Take the `outer` or the `inner` 5-tuple of VXLAN, GENEVE and GRE packets.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no table and no progress bar.")]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.add_typer(
        verbs, name="split", help="Split a trace over weighted paths, by every technique.", rich_help_panel=SPLIT
    )


@verbs.command(hidden=True)
def trace(
    trace: Source = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="W,W,...", help="One weight per path, or a TOML file with any of these options."),
    ] = None,
    technique: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE]",
            help="Run this technique only; repeatable. Default: all.",
            autocompletion=technique_names,
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="W,W,...", help="Show what moves if the weights become these; repeatable."),
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Show what moves if this path dies; paths count from 1; repeatable."),
    ] = None,
    drain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH[@T]",
            help="Show what moves if this path takes no new connections after half of them, or T seconds after the "
            "first packet, and how the rest splits; repeatable.",
        ),
    ] = None,
    slow_start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH@AGE/WINDOW",
            help="Show what moves if this path comes back and is AGE seconds into a slow start of WINDOW seconds, and "
            "how the connections split; repeatable.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="W", help="Show what moves if a path of this weight joins; repeatable.")
    ] = None,
    bounded_load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EPS",
            help="Show how the connections split if they come one after the other, none ends, and no path may have "
            "above 1 + EPS of its share; repeatable.",
        ),
    ] = None,
    hash: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            help="The hash that makes keys of 5-tuples; `split hashes` compares all.", autocompletion=hash_names
        ),
    ] = None,
    seed: Seed = None,
    direction: Direction = None,
    encap: Encap = None,
    generate: Generate = None,
    json: Json = None,
    csv: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write one CSV row per technique and path; `-` is stdout.")
    ] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE.html", help="Write an HTML page with plots.")] = None,
    quiet: Quiet = False,
) -> None:
    """Split the connections of a trace over weighted paths with every technique, and show the split of each.

    Paths count from 1, as in the VALO paper. Every change starts from the given weights; changes do not add up.
    `anabranch split hashes TRACE` compares packet hashes on the trace. A damaged or cut capture is read up to the
    damage, with a warning.
    """
    shown = ("json", "csv", "report", "quiet")
    given = {key.replace("_", "-"): value for key, value in locals().items() if key not in (*shown, "shown")}
    on_stdout = [name for name, file in (("json", json), ("csv", csv), ("report", report)) if file == "-"]
    if len(on_stdout) > 1:
        raise AnabranchError(f"{', '.join(on_stdout)}: -: all of them to stdout, which holds one; give files")
    from anabranch.split.request import request

    asked = request(given)
    # SciPy takes its time to load: not before the input is known to be good.
    from anabranch.files.atomic_file import write_whole
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.terminal.pass_progress import PassProgress
    from anabranch.report.tables.split_table import show
    from anabranch.split.job import run
    from anabranch.split.write import as_csv, record

    with PassProgress(asked.trace or asked.generate or "", quiet) as progress:
        result = run(asked, progress)
    warn_of_damage(result.trace)
    if json is not None:
        write_json(json, record(result))
    if report is not None:
        from anabranch.report.page.split import page

        write_whole(report, page(result, ["anabranch", *sys.argv[1:]]))
    if csv is not None:
        write_whole(csv, as_csv(result))
    if not (quiet or on_stdout):
        show(result, terminal())
        if report is not None:
            typer.echo(f"\nreport: {report}")


@verbs.command()
def hashes(
    trace: Source = None,
    weights: Annotated[
        str, typer.Option(metavar="W,W,...", help="The weights of the paths for which the joint quality is measured.")
    ] = "4,3,2",
    seed: Seed = None,
    direction: Direction = None,
    encap: Encap = None,
    generate: Generate = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compare packet hashes on a trace by collisions, evenness of bins and independence between paths."""
    given = {key: value for key, value in locals().items() if key not in ("json", "quiet")}
    from anabranch.split.request import request

    asked = request({**given, "technique": ["random"]})
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.pass_progress import PassProgress
    from anabranch.report.tables.split_table import show_hashes
    from anabranch.split.hashes import compare
    from anabranch.split.traffic import traffic

    with PassProgress(asked.trace or asked.generate or "", quiet) as progress:
        comparison = compare(asked, traffic(asked, [], progress))
    warn_of_damage(comparison.trace)
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, comparison.record)
    if not quiet and json != "-":
        show_hashes(comparison, terminal())


@verbs.command()
def table(
    weights: Annotated[str, typer.Option(metavar="W,W,...", help="One weight per path.")],
    technique: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE]",
            help="The technique. Default: min-move, with as many slots as the reader of the table has.",
            autocompletion=technique_names,
        ),
    ] = None,
    fail: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="This path is down; paths count from 1; repeatable.")
    ] = None,
    backends: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="The number of each path's backend in the reader's tables.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the group's history in this file: the next table moves the fewest slots from this one.",
        ),
    ] = None,
    katran: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the ring of one address in Katran's map `ch_rings`.")
    ] = None,
    cilium: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the value of the Maglev map of one service of Cilium.")
    ] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="Write one CSV row per slot; `-` is stdout.")] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Write the table of a group for programs that pick by one of their own: slot `hash % length` has the path.

    Files for Katran and Cilium have the number of a backend for each slot, 4 bytes in this machine's order. All files
    are written whole or not at all.
    """
    files = (("katran", katran), ("cilium", cilium), ("csv", csv), ("json", json))
    on_stdout = [name for name, file in files if file == "-"]
    if len(on_stdout) > 1 or set(on_stdout) & {"katran", "cilium"}:
        raise AnabranchError(f"{', '.join(on_stdout)}: -: stdout holds one text; give files")
    from anabranch.files.atomic_file import write_whole
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.report.tables.slot_table import show
    from anabranch.split.request import choices, weights_of
    from anabranch.split.table import plan_table, write_state
    from anabranch.split.table_format import CILIUM, KATRAN, as_csv, default_technique, entries

    asked = [(reader, file) for reader, file in ((KATRAN, katran), (CILIUM, cilium)) if file is not None]
    chosen = choices([technique]) if technique else (default_technique([reader for reader, _ in asked]),)
    if len(chosen) > 1:
        raise AnabranchError(f"technique: {technique}: a table is of one; call this once for each")
    planned, splitter = plan_table(weights_of(weights), chosen[0], fail=fail or (), backends=backends, state=state)
    binaries = [(file, entries(planned, reader)) for reader, file in asked]
    if state is not None:
        write_state(state, splitter)
    for file, content in binaries:
        write_whole(file, content)
    if csv is not None:
        write_whole(csv, as_csv(planned))
    if json is not None:
        write_json(json, planned.record())
    if not (quiet or on_stdout):
        show(planned, terminal())


def warn_of_damage(trace: Trace) -> None:
    """One line on stderr, also where nothing else is shown, if not all of a trace was read."""
    from anabranch.files.terminal.console import SafeConsole

    if trace.damage is not None:
        packets = f"{trace.counts['packets']:,}"
        SafeConsole(stderr=True, highlight=False, emoji=False, soft_wrap=True).print(
            f"anabranch: warning: only the first {packets} packets are counted: {trace.damage}", markup=False
        )
