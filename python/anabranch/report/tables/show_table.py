"""A scenario on a terminal, before it is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from anabranch._core import Scenario
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import (
    bit_rate,
    bytes_text,
    coarse_duration,
    count,
    data_size,
    duration,
    significant,
    time_text,
)
from anabranch.report.tables.offered_table import show_before
from anabranch.simulate.runs.speed import HOPS_PER_SECOND
from anabranch.simulate.stats.change_text import change_text
from anabranch.simulate.stats.path_counts import path_counts
from anabranch.simulate.stats.tiers import TIERS, node_names, rates, switches, tier_counts, tier_links, tier_word

CHANGES_SHOWN = 12


def show(scenario: Scenario, console: Console) -> None:
    """Prints nodes with their names, links, paths, changes, graphs, offered load, warnings, and the work of a run."""
    topology = scenario.topology()
    counts = tier_counts(topology)
    nodes = ", ".join(f"{count(counts[tier])} {switches(tier, counts)}" for tier in TIERS if counts[tier])
    console.print(f"{scenario.name}: {nodes}", markup=False, soft_wrap=True)
    for tier in TIERS:
        if counts[tier]:
            console.print(f"{tier_word(tier, counts)}: {node_names(topology, tier)}", markup=False, soft_wrap=True)
    console.print()
    table = plain_table(
        ("links", False),
        ("number", True),
        ("rate", True),
        ("capacity", True),
        ("over-subscribed", True),
        ("delay", True),
        ("buffer", True),
    )
    for links in tier_links(topology):
        over = links.oversubscription
        table.add_row(
            f"{tier_word(links.low, counts)} - {tier_word(links.high, counts)}",
            count(links.links),
            rates(links.rates_bps),
            bit_rate(links.capacity_bps),
            "-" if over is None else f"{over:.3g} : 1",
            _span([duration(value) for value in links.delays_ns]),
            _span(["unlimited" if value is None else bytes_text(value) for value in links.buffers_bytes]),
        )
    console.print(table)
    console.print()
    _paths(scenario, console)
    _changes(topology, console)
    _graphs(scenario, console)
    show_before(scenario, console)
    _work(scenario, console)


def record(scenario: Scenario) -> dict[str, Any]:
    """Lists these facts as plain data."""
    topology = scenario.topology()
    pairs = Counter(path_counts(topology).values())
    return {
        "name": scenario.name,
        "nodes": dict(tier_counts(topology)),
        "links": [asdict(links) for links in tier_links(topology)],
        "paths": [{"links": links, "paths": paths, "pairs": n} for (links, paths), n in sorted(pairs.items())],
        "changes": topology["changes"],
        "graphs": scenario.graphs(),
        "offered": scenario.offered_load(),
        "warnings": scenario.warnings(),
        "expected_packet_hops": scenario.expected_packet_hops(),
    }


def _paths(scenario: Scenario, console: Console) -> None:
    topology = scenario.topology()
    pairs = Counter(path_counts(topology).values())
    ends = "leaves and network cards" if "nic" in topology["nodes"]["tier"] else "leaves"
    for (links, paths), number in sorted(pairs.items()):
        word = "path" if paths == 1 else "paths"
        console.print(
            f"{count(paths)} shortest {word} of {links} links between {count(number)} ordered pairs of {ends}"
        )
    if pairs:
        console.print()


def _changes(topology: Mapping[str, Any], console: Console) -> None:
    """Prints a line per change; one for both directions of a link if both change alike."""
    names, ports = topology["nodes"]["name"], topology["ports"]
    sentences: dict[tuple[float, str, int], str] = {}
    for change in topology["changes"]:
        at_ns, words = float(change["at_ns"]), change_text(change).partition(",")[0]
        port = change.get("port")
        if port is None:
            sentences[at_ns, words, -1 - change["node"]] = names[change["node"]]
            continue
        source, target, back = names[ports["from"][port]], names[ports["to"][port]], ports["reverse"][port]
        if (at_ns, words, back) in sentences:
            sentences[at_ns, words, back] = f"{target} - {source}"
        else:
            sentences[at_ns, words, port] = f"{source} to {target}"
    for (at_ns, words, _), what in list(sentences.items())[:CHANGES_SHOWN]:
        console.print(f"at {time_text(at_ns)}: {what}: {words}", markup=False)
    if len(sentences) > CHANGES_SHOWN:
        console.print(f"... and {count(len(sentences) - CHANGES_SHOWN)} more changes")
    if sentences:
        console.print()


def _graphs(scenario: Scenario, console: Console) -> None:
    graphs = scenario.graphs()
    if not graphs:
        return
    table = plain_table(("job", True), ("ranks", True), ("messages", True), ("traffic", True))
    for number, graph in enumerate(graphs):
        table.add_row(str(number), count(graph["ranks"]), count(graph["messages"]), data_size(graph["bytes"]))
    console.print(table)
    console.print()


def _work(scenario: Scenario, console: Console) -> None:
    """Prints how much there is to simulate: what nobody would guess of a trace of a thousand ranks."""
    hops = scenario.expected_packet_hops()
    if hops:
        took = coarse_duration(hops / HOPS_PER_SECOND)
        speed = f"{took} of one core at {_rounded(HOPS_PER_SECOND)} a second"
        console.print(f"a run: about {_rounded(hops)} packet-hops, {speed}", markup=False)


def _rounded(value: float) -> str:
    """Three significant digits: `128 billion`, `4.20 million`, `310`."""
    for word, scale in (("billion", 1e9), ("million", 1e6), ("thousand", 1e3)):
        if value >= 0.9995 * scale:
            return f"{significant(value / scale)} {word}"
    return f"{value:.0f}"


def _span(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
