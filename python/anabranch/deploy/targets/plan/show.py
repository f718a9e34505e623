"""The output of `apply`, `diff`, `verify` and `remove`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from anabranch.deploy.targets.plan.verification import Measured, Verdict, Verified
from anabranch.deploy.targets.verbs import Outcome
from anabranch.files.terminal.console import SafeConsole
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.terminal.visible import one_line
from anabranch.files.units import pct

STYLES = {"+": "green", "-": "red", "~-": "red", "~+": "green"}
VERDICT_STYLES = {Verdict.RIGHT: "green", Verdict.WRONG: "red", Verdict.UNSURE: "yellow"}
PROGRESS_FROM_S, END_TIMEOUT_S = 2.0, 5.0


def show(outcome: Outcome, dry_run: bool, console: Console, *, compared_only: bool = False) -> None:
    """Prints changes, what the operator should know, and where it ends; differences, where nothing here changes it."""
    _lines(outcome.lines, console)
    _warnings(outcome.warnings, console)
    plural = "" if outcome.changes == 1 else "s"
    if compared_only:
        differences = f"{outcome.changes} difference{plural}" if outcome.changes else "no difference"
        console.print(f"{differences} in {outcome.summary}", markup=False)
        return
    if not outcome.changes:
        none_words = "nothing to do; this owner has"
    elif dry_run:
        none_words = f"{outcome.changes} change{plural} to make; this owner will have"
    else:
        none_words = f"{outcome.changes} change{plural} made; this owner has"
    console.print(f"{none_words}: {outcome.summary}", markup=False)


def show_stale(outcome: Outcome, console: Console) -> None:
    """Prints what is left of network namespaces that have ended."""
    _lines(outcome.lines, console)
    _warnings(outcome.warnings, console)
    if not outcome.changes:
        console.print("nothing to do: nothing is left of network namespaces that have ended")


def show_verified(verification: Verified, console: Console, *, compared_only: bool = False) -> None:
    """Prints what differs, or the split of every group by path."""
    _lines(verification.lines, console)
    _warnings(verification.warnings, console)
    if verification.lines:
        hint = "" if compared_only else "; anabranch apply puts it there"
        console.print(f"the switch does not hold the plan{hint}", style="red")
        return
    for group in verification.groups:
        _group(group, verification.seconds, console)
    if not verification.groups:
        console.print(Text.assemble((Verdict.RIGHT.value, VERDICT_STYLES[Verdict.RIGHT]), ": by comparison alone"))


def _group(group: Measured, seconds: float, console: Console) -> None:
    verdict, why = group.judged
    error = "" if group.mape_pct is None else f", error {pct(group.mape_pct)} % MAPE to planned"
    if group.asked_mape_pct is not None:
        error += f", {pct(group.asked_mape_pct)} % to asked"
    head = f" {group.recipe}, {group.total:,} {group.counted} in {seconds:.3g} s{error}"
    console.print(Text.assemble((one_line(group.name), "bold"), head))
    table = plain_table(
        ("port", False),
        ("asked\n%", True),
        ("planned\n%", True),
        ("got\n%", True),
        (f"{group.counted}\n", True),
        ("\n", False),
    )
    rows = zip(group.ports, group.up, group.asked, group.planned, group.packets, strict=True)
    for port, up, asked, planned, packets in rows:
        got = f"{100 * packets / group.total:.2f}" if group.total else "-"
        shares = (f"{100 * asked:.2f}", f"{100 * planned:.2f}", got)
        table.add_row(Text(one_line(port)), *shares, f"{packets:,}", "" if up else Text("down", "red"))
    console.print(table)
    console.print(Text.assemble((verdict.value, VERDICT_STYLES[verdict]), f": {why}"))
    if group.shortfall is not None:
        port, off_pct = group.shortfall
        console.print(
            f"with a port down this switch gives {port} {abs(off_pct):.3g} % {'less' if off_pct < 0 else 'more'} than "
            "the weights of the living ask for: planned is what it can do as it is; hint: a plan of the living paths "
            "alone (anabranch plan, then apply) gives what is asked",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )


def _lines(lines: list[str], console: Console) -> None:
    # Printed at once: there may be tens of thousands, and each print costs more than its line.
    styles = {sign: Style.parse(style) for sign, style in STYLES.items()}
    rows = ((Segment(one_line(line), styles.get(line.partition(" ")[0])), Segment.line()) for line in lines)
    console.print(Segments(chain.from_iterable(rows)), soft_wrap=True, end="")


def _warnings(warnings: list[str], console: Console) -> None:
    for warning in warnings:
        console.print(Text.assemble(("note: ", "yellow"), one_line(warning)), soft_wrap=True)


@contextmanager
def waiting(seconds: float) -> Iterator[None]:
    """Shows on stderr how much of a measurement is left, if it is a terminal."""
    console = SafeConsole(stderr=True)
    if seconds <= PROGRESS_FROM_S or not console.is_terminal:
        yield
        return
    bar = Progress(TextColumn("measuring"), BarColumn(), TimeRemainingColumn(), console=console, transient=True)
    ended = Event()

    def run() -> None:
        task, begun = bar.add_task("", total=seconds), monotonic()
        while not ended.wait(0.2):
            bar.update(task, completed=monotonic() - begun)

    with bar:
        thread = Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(END_TIMEOUT_S)
