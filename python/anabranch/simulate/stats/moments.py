"""Moments at which a fabric changes, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.files.units import bit_rate

NAMES_MAX = 2
"""Largest number of links or switches of one moment that are named; more are counted."""


@dataclass(frozen=True)
class Moment:
    """All changes of one time."""

    at_ns: float
    words: str
    """Links and switches, and what happens to them: `leaf1-spine1 down`."""


def moments(topology: Mapping[str, Any]) -> list[Moment]:
    """Moments after the start, the first one first."""
    by_time: dict[float, dict[str, dict[str, None]]] = {}
    for change in topology["changes"]:
        at_ns = float(change["at_ns"])
        if at_ns > 0:
            by_time.setdefault(at_ns, {}).setdefault(effect(change), {})[_where(change, topology)] = None
    return [
        Moment(at_ns, ", ".join(f"{_names(list(names))} {words}" for words, names in by_time[at_ns].items()))
        for at_ns in sorted(by_time)
    ]


def effect(change: Mapping[str, Any]) -> str:
    """What happens to a link or a switch: `down`, `up`, `25 Gbit/s`, `loss 1 %`."""
    what, value = str(change["what"]), float(change.get("value") or 0)
    for word in ("down", "up"):
        if what.endswith(word):
            return word
    if what.endswith("rate"):
        return bit_rate(value)
    return f"{what.rpartition('_')[2]} {100 * value:.3g} %"


def _where(change: Mapping[str, Any], topology: Mapping[str, Any]) -> str:
    """Name of the link, the lower end first, or of the switch."""
    names = topology["nodes"]["name"]
    if change.get("port") is None:
        return str(names[int(change["node"])])
    port = int(change["port"])
    ends = sorted((int(topology["ports"]["from"][port]), int(topology["ports"]["to"][port])))
    return "-".join(str(names[node]) for node in ends)


def _names(names: list[str]) -> str:
    if len(names) <= NAMES_MAX:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} more"
