"""A fabric written link by link, where links differ in what a topology file cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def graph_table(topology: Mapping[str, Any], marks: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Keys of `[fabric]` that list nodes and links of a topology, each link marked by its rate in bits per second."""
    nodes, ports = topology["nodes"], topology["ports"]
    names = nodes["name"]
    listed = [
        {"name": name} | ({"tier": "host"} if number < topology["hosts"] else {}) for number, name in enumerate(names)
    ]
    edges = [
        {
            "from": names[ports["from"][port]],
            "to": names[ports["to"][port]],
            "rate": f"{ports['rate_bps'][port]} bps",
            "delay": f"{ports['delay_ns'][port]:.3f} ns",
            "ecn": dict(marks[ports["rate_bps"][port]]),
        }
        for port in range(0, len(ports["from"]), 2)
    ]
    return {"kind": "graph", "node": listed, "edge": edges}


def losses(topology: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Entries of `[[change]]` for the links that lose frames from the start."""
    names, ports = topology["nodes"]["name"], topology["ports"]
    lossy = [change for change in topology["changes"] if change["what"] == "port_loss" and change["at_ns"] == 0]
    return [
        {"link": f"{names[ports['from'][one['port']]]}>{names[ports['to'][one['port']]]}", "loss": one["value"]}
        for one in lossy
    ]
