"""Plans over given connections, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.deploy.targets.forecast_table import (
    PATHS_SHOWN,
    error_style,
    error_text,
    show_asked,
    show_recommended,
    show_refused,
)
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Reading
from anabranch.deploy.targets.traffic import OnTraffic, Outcome
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bytes_text, pct


def show(on_traffic: OnTraffic, console: Console) -> None:
    """Prints what each recipe of each target makes of the connections, and the recommended one with what to paste."""
    group, trace = on_traffic.forecasts.group, on_traffic.trace
    show_asked(group, console)
    console.print(
        f"{trace.name}: {len(trace):,} connections, each direction for itself, {bytes_text(trace.bytes.sum())}",
        markup=False,
    )
    low, high = on_traffic.band_pct
    ideal = f"an ideal hash is off by {pct(on_traffic.floor_pct)} % on average ({pct(low)} to {pct(high)} in 95 of 100)"
    if on_traffic.byte_floor_pct is not None and on_traffic.largest_share is not None:
        ideal += f", {pct(on_traffic.byte_floor_pct)} % by bytes, "
        ideal += f"{pct(100 * on_traffic.largest_share)} % of which are one connection"
    console.print(ideal, markup=False, soft_wrap=True)
    for target, outcomes in zip(on_traffic.forecasts.targets, on_traffic.outcomes, strict=True):
        console.print()
        console.print(Text(target.title, style="bold"))
        console.print(_outcomes(on_traffic, outcomes))
        show_refused(target, console)
        unknown = {one.recipe.name: one.unknown for one in outcomes if one.unknown}
        if unknown:
            console.print(
                f"  {', '.join(unknown)}: without {max(unknown.values()):,} connections of which a trace does not tell "
                "what is hashed (ICMP's type and code, extension headers, fragments)",
                style="dim",
                markup=False,
            )
        if target.reading is not None:
            _show_reading(target.reading, outcomes, console)
        hashes = dict.fromkeys(one.recipe.own_hash.holds for one in outcomes if one.recipe.own_hash is not None)
        for holds in hashes:
            names = [one.recipe.name for one in outcomes if one.recipe.own_hash and one.recipe.own_hash.holds == holds]
            console.print(f"  {', '.join(names)}: {holds}", style="dim", markup=False)
    target, best = on_traffic.best
    console.print()
    console.print(Text(f"Recommended: {target.title}", style="bold"))
    if len(group.weights) <= PATHS_SHOWN and best.connections is not None:
        console.print(_paths(group, best))
    if on_traffic.explained(best):
        near = "; off by no more than an ideal hash"
    elif best.outside == len(trace):
        near = "; by its shares alone, for none of these connections comes to it"
    elif best.without_path == len(trace):
        near = "; by its shares alone, for no hash of these connections is known"
    else:
        near = "; nothing here is as near as a hash can be"
    show_recommended(target, best.recipe, near, console)


def _show_reading(reading: Reading, outcomes: Sequence[Outcome], console: Console) -> None:
    """Prints which of the connections the target reads otherwise than a 5-tuple, and how many they are."""
    outside, portless = (max(getattr(one, count) for one in outcomes) for count in ("outside", "portless"))
    lines = [f"without {outside:,} of these connections: {reading.outside}"] if outside else []
    if portless:
        lines.append(f"{portless:,} of these connections: {reading.portless}")
    if reading.unpredicted:
        lines.append(f"single connections: {reading.unpredicted}")
    for line in lines:
        console.print(f"  {line}", style="dim", markup=False)


def _outcomes(on_traffic: OnTraffic, outcomes: Sequence[Outcome]) -> Table:
    table = plain_table(
        ("\n", False),
        ("recipe\n", False),
        ("% MAPE of\nthe shares", True),
        ("and of\nchance", True),
        ("of these\nconnections", True),
        ("of their\nbytes", True),
        ("worst path\nby %", True),
        ("chance\nalone", False),
    )
    best = on_traffic.recommended(outcomes)
    for one in outcomes:
        error, explained = one.recipe.mape_pct, on_traffic.explained(one)
        unexplained = "-" if one.without_path == len(on_traffic.trace) else "no"
        table.add_row(
            Text("*", "bold green") if one is best else "",
            one.recipe.name,
            Text(error_text(error), error_style(error)),
            "by packet" if one.recipe.per_packet else error_text(one.expected_pct),
            _known(one.connections_pct),
            _known(one.bytes_pct),
            _worst(one),
            Text("yes", "green") if explained else Text(unexplained, "red"),
        )
    return table


def _paths(group: Group, best: Outcome) -> Table:
    numbers = range(1, len(group.weights) + 1)
    table = plain_table(("", False), ("% of all", False), *((f"path {path}", True) for path in numbers))
    table.add_row("", "asked", *(f"{100 * share:.2f}" for share in group.asked), style="bold")
    for what, amounts in (("connections", best.connections), ("bytes", best.bytes)):
        total = max(1, sum(amounts or ()))
        table.add_row("", what, *(f"{100 * amount / total:.2f}" for amount in amounts or ()))
    return table


def _known(value: float | None) -> str:
    return "-" if value is None else error_text(value)


def _worst(one: Outcome) -> str:
    """The path whose connections are furthest from what is asked."""
    if one.connections is None or not sum(one.connections):
        return "-"
    total = sum(one.connections) + one.lost[0]
    errors = [
        (100 * (got / total - share) / share, path)
        for path, (share, got) in enumerate(zip(one.recipe.asked, one.connections, strict=True), 1)
        if share
    ]
    error, path = max(errors, key=lambda pair: abs(pair[0]))
    return f"{path}: {'-' if error < 0 else '+'}{error_text(abs(error))}"
