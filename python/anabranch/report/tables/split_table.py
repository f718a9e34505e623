"""Tables of `anabranch split` on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import amount, count, data_size, nanoseconds, pct, ratio
from anabranch.split.effect import Moved
from anabranch.split.hashes import Comparison
from anabranch.split.job import Result

PATHS_SHOWN = 5
NEAR_FLOOR, FAR_FROM_FLOOR = 1.5, 4.0
"""Multiples of the floor up to which an error is coloured as chance, and beyond which as a fault."""


def show(result: Result, console: Console) -> None:
    """Prints the head, the tables of techniques, paths and changes, and the refused techniques."""
    _head(result, console)
    console.print(_techniques(result))
    console.print(_notes(result), style="dim", soft_wrap=True)
    if len(result.request.weights) <= PATHS_SHOWN:
        console.print()
        console.print(_paths(result))
    for index, change in enumerate(result.request.changes):
        console.print(f"\nafter {change.label(len(result.request.weights))}:", markup=False)
        console.print(_after(result, index))
        for outcome in result.techniques:
            if outcome.changes[index].refused is not None:
                console.print(f"{outcome.label}: {outcome.changes[index].refused}", markup=False, soft_wrap=True)
    for name, reason in result.refused:
        console.print(f"not run: {name}: {reason}", markup=False, soft_wrap=True)


def _head(result: Result, console: Console) -> None:
    trace, packets = result.trace, int(result.trace.packets.sum())
    rate = packets / max(result.read_seconds, 1e-9) / 1e6
    hashed = result.collisions
    low, high = result.floor_band_pct
    lines = [
        f"{trace.name}: {count(packets)} packets, {data_size(float(trace.bytes.sum()))} on the wire, "
        f"read in {result.read_seconds:.2f} s ({rate:.1f} million packets/s)",
        f"{count(trace.conversations)} conversations, {count(trace.five_tuples)} directed 5-tuples; "
        f"{count(len(trace))} connections are split (direction: {result.request.direction})",
    ]
    skipped = {key: value for key, value in trace.counts.items() if value and key not in ("packets", "ip_packets")}
    if skipped:
        lines.append("packets: " + ", ".join(f"{count(v)} {k.replace('_', ' ')}" for k, v in skipped.items()))
    if tunnels := trace.counts.get("tunnels", 0):
        lines.append(
            f"{count(tunnels)} packets belong to VXLAN, GENEVE or GRE tunnels and count for the tunnel's 5-tuple; "
            "--encap inner splits the connections inside"
        )
    lines += [
        f"hash {hashed.hash}, {hashed.bits} bits: {pct(hashed.lost_pct)} % of connections have the key of another, "
        f"{pct(hashed.expected_pct)} % under a perfect hash",
        f"noise floor: {pct(result.floor_pct)} % MAPE; 95 of 100 ideal splits lie within {pct(low)} to {pct(high)} %",
        "",
    ]
    console.print("\n".join(lines), markup=False, soft_wrap=True)


def _techniques(result: Result) -> Table:
    table = plain_table(
        ("technique\n", False),
        ("error\n% MAPE", True),
        ("times\nfloor", True),
        ("expected\nx floor", True),
        ("worst path\nby %", True),
        ("bytes\n% MAPE", True),
        ("cost\nns", True),
        ("state\n", True),
        *((f"moved:\n{short(change.kind, change.text)}", True) for change in result.request.changes),
    )
    for outcome in result.techniques:
        table.add_row(
            outcome.label,
            pct(outcome.mape_pct),
            _times(outcome.times_floor),
            _times(outcome.times_expected),
            f"{outcome.worst_path}: {outcome.worst_path_error_pct:+.1f}",
            pct(outcome.byte_mape_pct),
            nanoseconds(outcome.ns_per_decision),
            amount(outcome.state_bytes),
            *map(_moved, outcome.changes),
        )
    return table


def short(kind: str, text: str) -> str:
    """Formats a change for a column's header."""
    if kind == "weights":
        return text if len(text) <= 8 else "weights"
    if kind == "slow-start":
        return f"start {text}"
    return f"bound {text}" if kind == "bounded-load" else f"{kind} {text}"


def _times(times: float | None) -> Text:
    """Formats a multiple of the floor, if there is one."""
    if times is None:
        return Text("-", style="dim")
    style = "green" if times <= NEAR_FLOOR else "yellow" if times <= FAR_FROM_FLOOR else "red"
    return Text(ratio(times), style=style)


def _moved(moved: Moved) -> Text:
    if moved.moved is None:
        return Text("-", style="dim")
    if moved.kind == "bounded-load":
        return Text(count(moved.moved))
    if moved.moved == 0 or moved.minimum == 0:
        return Text(count(moved.moved), style="green" if moved.moved == 0 else "red")
    times = moved.moved / moved.minimum
    return Text(ratio(times), style="green" if times < 1.02 else "yellow" if times < 2 else "red")


def _notes(result: Result) -> str:
    notes = [
        "error: of this trace, as a multiple of the floor beside it; expected: over many such traces, from the plan's",
        "own shares, the hash's width and the slots it reaches, - where arrivals decide; cost: one decision, flow",
        "tables by their hits, hashing not included",
    ]
    if result.request.changes:
        notes.append("moved: connections that change path, as a multiple of the fewest that have to")
    if any(outcome.spread_connections for outcome in result.techniques):
        notes.append("-: connections took several paths each; they count on the path of their first packet")
    return "\n".join(notes)


def _paths(result: Result) -> Table:
    numbers = range(1, len(result.request.weights) + 1)
    table = plain_table(
        ("got, % of all\n", False),
        *((f"{'connections' if path == 1 else ''}\npath {path}", True) for path in numbers),
        *((f"{'bytes' if path == 1 else ''}\npath {path}", True) for path in numbers),
    )
    asked = [f"{100 * share:.2f}" for share in result.techniques[0].asked]
    table.add_row("asked", *asked, *asked, style="bold")
    for outcome in result.techniques:
        columns = (outcome.got_connections, outcome.got_bytes)
        table.add_row(outcome.label, *(f"{100 * part / sum(got):.2f}" for got in columns for part in got))
    return table


def _after(result: Result, index: int) -> Table:
    """Table of the split and error of every technique after one of the changes."""
    asked = result.techniques[0].changes[index].asked
    numbers = range(1, len(asked) + 1) if len(asked) <= PATHS_SHOWN + 1 else range(0)
    table = plain_table(
        ("technique\n", False),
        ("error\n% MAPE", True),
        ("times\nfloor", True),
        ("expected\nx floor", True),
        *((f"{'connections, % of all' if path == 1 else ''}\npath {path}", True) for path in numbers),
    )
    table.add_row("asked", "", "", "", *(f"{100 * asked[path - 1]:.2f}" for path in numbers), style="bold")
    for outcome in result.techniques:
        moved = outcome.changes[index]
        if moved.mape_pct is None or moved.got_connections is None:
            table.add_row(outcome.label, *(Text("-", style="dim") for _ in range(3 + len(numbers))))
            continue
        total = sum(moved.got_connections)
        table.add_row(
            outcome.label,
            pct(moved.mape_pct),
            _times(moved.times_floor),
            _times(moved.times_expected),
            *(f"{100 * moved.got_connections[path - 1] / total:.2f}" for path in numbers),
        )
    return table


def show_hashes(comparison: Comparison, console: Console) -> None:
    """Prints the quality of each hash on a trace."""
    table = plain_table(
        ("hash\n", False),
        ("bits\n", True),
        ("keys lost\n%", True),
        ("expected\n%", True),
        ("even bins\nchi2/df", True),
        ("\np", True),
        ("correlation\nof paths", True),
        ("scoring\n% MAPE", True),
        ("of the\nfloor", True),
    )
    for quality in comparison.hashes:
        table.add_row(
            quality.name,
            str(quality.bits),
            f"{quality.lost_pct:.4f}",
            f"{quality.lost_expected_pct:.4f}",
            f"{quality.chi2_per_df:.2f}",
            f"{quality.p_value:.3f}",
            f"{quality.correlation:+.3f}",
            pct(quality.scoring_mape_pct),
            _times(quality.times_floor),
        )
    weights = ",".join(comparison.weights)
    console.print(
        f"{comparison.trace.name}: {count(len(comparison.trace))} connections, weights {weights}\n", markup=False
    )
    console.print(table)
    console.print(
        "keys lost: connections whose value another one has; expected: by a perfect hash of as many bits\n"
        "correlation and scoring: of the values that one hash gives a flow for each path, without a finaliser;\n"
        "even bins say nothing of them: affine hashes fill bins evenly and still ruin scoring",
        style="dim",
    )
