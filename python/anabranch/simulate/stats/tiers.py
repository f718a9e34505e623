"""A fabric in numbers: the nodes of each tier, and the links that join them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.files.units import bit_rate

TIERS = ("host", "server", "nic", "leaf", "aggregation", "spine")
"""All tiers, the lowest first."""


@dataclass(frozen=True)
class TierLinks:
    """All links between two tiers."""

    low: str
    high: str
    links: int
    rates_bps: tuple[float, ...]
    """Different rates, ascending."""
    capacity_bps: float
    """Capacity of one direction."""
    oversubscription: float | None
    """Capacity of the tier below that can send up, over this one; None for the lowest."""
    delays_ns: tuple[float, ...]
    """Different delays, ascending; likewise the buffers, None for one without limit, last."""
    buffers_bytes: tuple[float | None, ...]


def tier_counts(topology: Mapping[str, Any]) -> Counter[str]:
    """Number of nodes by tier; an accelerator with a network card and a scale-up port is one host."""
    counts = Counter(topology["nodes"]["tier"])
    if topology.get("named_hosts"):
        counts["host"] = int(topology["named_hosts"])
    return counts


def tier_links(topology: Mapping[str, Any]) -> list[TierLinks]:
    """Links between tiers, from the hosts up."""
    ports, tier = topology["ports"], topology["nodes"]["tier"]
    rates: dict[tuple[int, int], list[float]] = {}
    delays: dict[tuple[int, int], set[float]] = {}
    buffers: dict[tuple[int, int], set[float]] = {}
    for port, (source, target, rate) in enumerate(zip(ports["from"], ports["to"], ports["rate_bps"], strict=True)):
        low, high = TIERS.index(tier[source]), TIERS.index(tier[target])
        if low < high or (low == high and port < ports["reverse"][port]):
            rates.setdefault((low, high), []).append(float(rate))
        pair = (min(low, high), max(low, high))
        delays.setdefault(pair, set()).add(float(ports["delay_ns"][port]))
        room = ports["buffer_bytes"][port]
        buffers.setdefault(pair, set()).add(math.inf if room is None else float(room))
    into: dict[int, float] = {}
    for (low, high), by_rate in sorted(rates.items()):
        if low < high:
            into[high] = into.get(high, 0.0) + sum(by_rate)
    return [
        TierLinks(
            TIERS[low],
            TIERS[high],
            len(by_rate),
            tuple(sorted(set(by_rate))),
            sum(by_rate),
            into[low] / sum(by_rate) if low in into and low < high else None,
            tuple(sorted(delays[low, high])),
            tuple(None if math.isinf(room) else room for room in sorted(buffers[low, high])),
        )
        for (low, high), by_rate in sorted(rates.items())
    ]


def tier_word(tier: str, counts: Mapping[str, int]) -> str:
    """Common name of a tier: the top above aggregation switches is the core, above leaves a spine."""
    return "core" if tier == "spine" and counts.get("aggregation") else tier


def direction_words(direction: str, counts: Mapping[str, int]) -> str:
    """Direction in the words of `tier_word`, such as `aggregation to spine`."""
    return " to ".join(tier_word(tier, counts) for tier in direction.split(" to "))


def node_names(topology: Mapping[str, Any], tier: str) -> str:
    """Names of all nodes of a tier: `leaf0 to leaf7` if they are numbered in a row."""
    names = [
        name for name, own in zip(topology["nodes"]["name"], topology["nodes"]["tier"], strict=True) if own == tier
    ]
    spans: list[list[str]] = []
    after = ""
    for name in names:
        stem = name.rstrip("0123456789")
        if spans and name == after:
            spans[-1][1:] = [name]
        else:
            spans.append([name])
        after = f"{stem}{int(name[len(stem) :]) + 1}" if name[len(stem) :].isdecimal() else ""
    return ", ".join(" to ".join(span) for span in spans)


def switches(tier: str, counts: Mapping[str, int]) -> str:
    """Counted nodes of a tier, by their common name."""
    number = counts[tier]
    if tier == "aggregation":
        return tier
    name = tier_word(tier, counts)
    return name if number == 1 else {"leaf": "leaves"}.get(name, f"{name}s")


def rates(rates_bps: Sequence[float]) -> str:
    """Formats one rate, or the range of several."""
    low, high = min(rates_bps), max(rates_bps)
    return bit_rate(low) if low == high else f"{bit_rate(low)} to {bit_rate(high)}"
