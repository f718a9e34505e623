"""Shape of a fabric: where its boxes and links are drawn, what changes, and its graph for shortest paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.files.units import count
from anabranch.report.page.explore.packed import pack
from anabranch.report.plot.fabric_geometry import BOTTOM, BOX_INCHES, HOST_INCHES, LEFT, RIGHT, Drawing, link_lines
from anabranch.report.plot.fabric_layout import layout
from anabranch.simulate.stats.change_text import change_text
from anabranch.simulate.stats.tiers import switches, tier_counts


@dataclass(frozen=True)
class Carrier:
    """A half of a drawn link: a port, or the ports of all hosts of a switch in one direction."""

    ports: list[int]
    label: str
    line: tuple[float, float, float, float]
    """From its own end to the middle of the link, in inches from the left and from above."""


def carriers(topology: Mapping[str, Any]) -> list[Carrier]:
    """Carriers of a drawing: links between switches by port, then two for the hosts of each switch."""
    drawing = Drawing(layout(topology))
    names, ports = topology["nodes"]["name"], topology["ports"]
    rows = []
    for port, ((x0, y0), (x1, y1)) in sorted(link_lines(drawing, topology).items()):
        label = f"{names[ports['from'][port]]} to {names[ports['to'][port]]}"
        rows.append(Carrier([port], label, _half(drawing, x0, y0, x1, y1)))
    port_of = {host: port for port, host in enumerate(ports["from"]) if host < topology["hosts"]}
    for index, hosts in drawing.laid.hosts_of.items():
        box = drawing.laid.boxes[index]
        up = [port_of[host] for host in hosts]
        down = [ports["reverse"][port] for port in up]
        x, low, high = drawing.x(box), BOTTOM + HOST_INCHES, drawing.y(box.row) - BOX_INCHES / 2
        who = f"{count(len(hosts))} hosts" if len(hosts) > 1 else names[hosts[0]]
        switch = f"pod {box.name}" if box.rows > 1 else names[box.nodes[0]]
        rows.append(Carrier(up, f"{who} to {switch}", _half(drawing, x, low, x, high)))
        rows.append(Carrier(down, f"{switch} to {who}", _half(drawing, x, high, x, low)))
    return rows


def shape(topology: Mapping[str, Any]) -> dict[str, Any]:
    """Drawing and graph of a fabric; positions in inches from the left and from above, without its tiers' names."""
    drawing = Drawing(layout(topology))
    laid, names, ports = drawing.laid, topology["nodes"]["name"], topology["ports"]
    counts = tier_counts(topology)
    hosts_y = drawing.height - BOTTOM - HOST_INCHES / 2
    tiers = [("host", hosts_y)] + [(name, drawing.height - y) for name, y in drawing.tier_heights().items()]
    return {
        "width": drawing.across - LEFT - RIGHT,
        "height": drawing.height,
        "boxes": [
            {
                "name": f"pod {box.name}" if box.rows > 1 else box.name,
                "title": f"pod {box.name}" if box.rows > 1 else names[box.nodes[0]],
                "nodes": list(box.nodes),
                "x": round(drawing.x(box) - LEFT, 4),
                "width": round(drawing.width(box), 4),
                "top": round(drawing.height - drawing.top(box), 4),
                "bottom": round(drawing.height - drawing.y(box.row) + BOX_INCHES / 2, 4),
                "hosts": laid.hosts_of.get(index, []),
            }
            for index, box in enumerate(laid.boxes)
        ],
        "host_top": drawing.height - BOTTOM - HOST_INCHES,
        "host_bottom": drawing.height - BOTTOM,
        "tiers": [{"text": f"{count(counts[name])} {switches(name, counts)}", "y": round(y, 4)} for name, y in tiers],
        "carriers": [{"ports": one.ports, "label": one.label, "line": one.line} for one in carriers(topology)],
        "names": names,
        "hosts": topology["hosts"],
        "cards": [node for node, tier in enumerate(topology["nodes"]["tier"]) if tier == "nic"],
        "graph": {key: pack(ports[key], "u4") for key in ("from", "to", "reverse", "cost")},
        "changes": [_change(change, topology) for change in topology["changes"]],
    }


def _half(drawing: Drawing, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
    ends = (x0 - LEFT, drawing.height - y0, (x0 + x1) / 2 - LEFT, drawing.height - (y0 + y1) / 2)
    return (round(ends[0], 4), round(ends[1], 4), round(ends[2], 4), round(ends[3], 4))


def _change(change: Mapping[str, Any], topology: Mapping[str, Any]) -> dict[str, Any]:
    """A change: time, port or node, what of it changes (`down`, `rate`, ...), and whether that is as built again."""
    kind = str(change["what"]).rpartition("_")[2]
    port, value = change.get("port"), change.get("value")
    cleared = kind == "up" or (kind not in ("down", "rate") and not value)
    if kind == "rate" and port is not None:
        cleared = float(value or 0) == float(topology["ports"]["rate_bps"][port])
    return {
        "at_ns": change["at_ns"],
        "port": port,
        "node": change.get("node"),
        "kind": "down" if kind == "up" else kind,
        "cleared": cleared,
        "words": change_text(change).partition(",")[0],
    }
