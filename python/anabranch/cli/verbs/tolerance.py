"""`anabranch tolerance`: bounds that an operator can defend, for any switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import SPLIT, Json
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.split.tolerance.faults import Fault

STATUS_WRONG, STATUS_UNSURE = 1, 3


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SPLIT)(tolerance)


def tolerance(
    *,
    counters: Annotated[
        str | None,
        typer.Argument(
            metavar="COUNTERS",
            help="The packets that each member counted, to be judged: numbers as in `1250,1249`, or a file of numbers "
            "or of CSV with the columns member and packets; `-` is stdin.",
        ),
    ] = None,
    members: Annotated[
        int | None, typer.Option(metavar="N", help="The number of members, where all have the same weight.")
    ] = None,
    weights: Annotated[str | None, typer.Option(metavar="W,W,...", help="One weight per member.")] = None,
    band: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="The band of the test: each member within so many percent of its share."),
    ] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="The number of flows of the test, or behind the counters.")
    ] = None,
    values: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The number of distinct values of the hashed field that the flows have. Default: one for each flow.",
        ),
    ] = None,
    packets_per_flow: Annotated[
        str | None,
        typer.Option(
            metavar="N|NAME",
            help="The packets of each flow, or a published distribution of flow sizes, as in `web-search`. Default: "
            "flows of one size.",
        ),
    ] = None,
    false_alarms: Annotated[
        float,
        typer.Option(metavar="RATE", help="The share of trials in which the test may fail an ideal hash."),
    ] = 0.001,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="A fault that the test is to see: `missing` (a member), `equal` (weights ignored), `off:10` (a member "
            "is 10 % off) or `values:256` (the hash sees so many); repeatable. Default: these four.",
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Say which split of a switch chance explains: flows a test needs, its bounds, the faults it sees, and a verdict.

    The status is 1 if the test fails an ideal hash more often than it may or the counters show a fault, and 3 if the
    counters cannot decide.
    """
    from anabranch.split.request import weights_of
    from anabranch.split.tolerance.faults import fault as read_fault

    asked = None if weights is None else weights_of(weights)
    chosen = [read_fault(one) for one in fault or []]
    if counters is None:
        status = _plan(members, asked, values, packets_per_flow, false_alarms, flows, band, chosen, json)
    elif band is not None or fault:
        raise AnabranchError("band, fault: of a test that is planned, not of counters; leave them out")
    else:
        status = _judge(counters, members, asked, values, packets_per_flow, false_alarms, flows, json)
    if status:
        raise typer.Exit(status)


def _plan(
    members: int | None,
    weights: tuple[str, ...] | None,
    values: int | None,
    packets_per_flow: str | None,
    false_alarms: float,
    flows: int | None,
    band: float | None,
    faults: list[Fault],
    json: str | None,
) -> int:
    """Shows a test before it runs; returns the exit status."""
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.report.tables.tolerance_table import show_report
    from anabranch.split.tolerance.job import report
    from anabranch.split.tolerance.tolerance import Tolerance

    test = Tolerance(
        members,
        weights=weights,
        values=values,
        packets_per_flow=1 if packets_per_flow is None else packets_per_flow,
        false_alarms=false_alarms,
    )
    computed = report(test, flows, band, false_alarms, faults)
    if json is not None:
        write_json(json, computed.record)
    if json != "-":
        show_report(computed, terminal())
    return 0 if computed.is_kept else STATUS_WRONG


def _judge(
    text: str,
    members: int | None,
    weights: tuple[str, ...] | None,
    values: int | None,
    packets_per_flow: str | None,
    false_alarms: float,
    flows: int | None,
    json: str | None,
) -> int:
    """Judges counters; returns the exit status."""
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.report.tables.tolerance_table import show_verdict
    from anabranch.split.tolerance.counters import read_counters
    from anabranch.split.tolerance.job import verdict_record
    from anabranch.split.tolerance.judge import Cause, judge

    counters = read_counters(text)
    for key, number in (("members", members), ("weights", None if weights is None else len(weights))):
        if number is not None and number != len(counters.packets):
            raise AnabranchError(
                f"{key}: {number}: there are counters of {len(counters.packets)} members; give as many"
            )
    verdict = judge(
        counters.packets,
        names=counters.names,
        weights=weights,
        flows=flows,
        values=values,
        packets_per_flow=packets_per_flow,
        false_alarms=false_alarms,
    )
    if json is not None:
        write_json(json, verdict_record(verdict))
    if json != "-":
        show_verdict(verdict, terminal())
    return {Cause.CHANCE: 0, Cause.UNSURE: STATUS_UNSURE}.get(verdict.cause, STATUS_WRONG)
