"""Tables of `anabranch tolerance` on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.terminal.visible import one_line
from anabranch.files.units import count, pct
from anabranch.split.tolerance.chance import percent
from anabranch.split.tolerance.job import Report
from anabranch.split.tolerance.judge import Cause, Judgement

STYLES = {Cause.CHANCE: "green", Cause.UNSURE: "yellow"}
SIMILAR_ROWS = 16
"""Members up to which each has a row even if all have the same bounds."""


def show_report(report: Report, console: Console) -> None:
    """Prints the flows that bands need, the bounds of the members, and the faults that are seen."""
    _head(report, console)
    if report.flows is None or report.band_pct is None:
        table = plain_table(("band\n+- %", True), ("flows\nneeded", True))
        for band, flows in report.bands:
            table.add_row(f"{band:g}", "none do" if flows is None else count(flows))
        if report.flows is None:
            console.print(table)
    if report.bounds:
        _bounds(report, console)
    if report.faults:
        console.print()
        columns = [("fault\n", False), ("seen in %\nof trials", True), ("flows to see\nit in 99 %", True)]
        table = plain_table(*(columns if report.flows is not None else [columns[0], columns[2]]))
        for one in report.faults:
            needed = "none do" if one.flows is None else count(one.flows)
            seen = [] if one.power is None else [percent(one.power)]
            table.add_row(one.fault.label, *seen, needed)
        console.print(table)


def _head(report: Report, console: Console) -> None:
    test, rate = report.test, report.false_alarms
    lines = [f"{test.shares.size} members; an ideal hash is to fail in no more than {percent(rate)} % of trials"]
    if not test.exact:
        lines.append(f"flows of unequal size: {test.spread:.3g} of them split as evenly as one of equal flows")
    if report.band_pct is not None:
        needed = report.bands[0][1]
        band = f"a band of +- {report.band_pct:g} %"
        if needed is None:
            why = "the hash sees too few values" if test.values is not None else "more than 10^12 are needed"
            lines.append(f"no number of flows does for {band}: {why}")
        else:
            lines.append(f"{band} needs {count(needed)} flows")
    if report.false_alarm is not None:
        alarm = percent(report.false_alarm)
        lines.append(f"with {count(report.flows or 0)} flows an ideal hash fails in {alarm} % of trials")
    if report.narrowest_pct is not None:
        lines.append(
            f"the narrowest band that {count(report.flows or 0)} flows keep is +- {pct(report.narrowest_pct)} %"
        )
    console.print("\n".join(lines), markup=False, soft_wrap=True)
    console.print()


def _bounds(report: Report, console: Console) -> None:
    table = plain_table(
        ("member\n", False),
        ("share\n%", True),
        ("expected\nflows", True),
        ("least\n", True),
        ("most\n", True),
        ("least\n%", True),
        ("most\n%", True),
    )
    rows = {(one.share, one.least, one.most): one for one in reversed(report.bounds)}
    alike = len(report.bounds) > SIMILAR_ROWS and len(rows) == 1
    for one in report.bounds[:1] if alike else report.bounds:
        off = [f"{100 * (end / one.expected - 1):+.3g}" if one.expected else "-" for end in (one.least, one.most)]
        ends = (count(one.least), count(one.most))
        table.add_row("each" if alike else str(one.member), pct(100 * one.share), count(one.expected), *ends, *off)
    console.print(table)


def show_verdict(judgement: Judgement, console: Console) -> None:
    """Prints the counter of each member beside what it should be, and the verdict."""
    table = plain_table(
        ("member\n", False),
        ("share\n%", True),
        ("expected\npackets", True),
        ("got\n", True),
        ("off by\n%", True),
        ("chance\n%", True),
    )
    for one in judgement.members:
        off = f"{100 * (one.got / one.expected - 1):+.3g}" if one.expected else "-"
        likely = "-" if one.chance is None else percent(one.chance)
        table.add_row(Text(one_line(one.name)), pct(100 * one.share), count(one.expected), count(one.got), off, likely)
    console.print(table)
    console.print()
    verdict = Text.assemble(
        (judgement.cause.value, STYLES.get(judgement.cause, "red")), f": {one_line(judgement.reason)}"
    )
    console.print(verdict, soft_wrap=True)
    if judgement.chance is not None and judgement.cause is not Cause.CHANCE:
        console.print(
            f"an ideal hash puts a member as far off in {percent(judgement.chance)} % of trials", soft_wrap=True
        )
