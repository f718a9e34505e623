"""The fabric as the controller knows it, drawn: an SVG of boxes and links as values for the page's template.

Boxes stand where `anabranch show` puts them; matplotlib is left out, as a page must not hold the controller's loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from anabranch.deploy.control.state import SECONDARY, LinkState, NodeState, Snapshot, SwitchState
from anabranch.files.units import bit_rate, count
from anabranch.report.plot.fabric_boxes import Box
from anabranch.report.plot.fabric_geometry import BOTTOM, BOX_INCHES, HOST_INCHES, NAME_INCHES, Drawing, link_lines
from anabranch.report.plot.fabric_layout import layout
from anabranch.report.plot.heat import heat
from anabranch.simulate.stats.tiers import switches as tier_words
from anabranch.simulate.stats.tiers import tier_counts

SCALE = 100
"""Units of the drawing to an inch."""
MARKS_MAX = 12
"""Slow or dead links that are told in words; of more only the marks are drawn."""
CROWD_LINKS = 60

UNKNOWN, OK, DIFFERENT, DOWN = "unknown", "ok", "different", "down"


@dataclass(frozen=True)
class Line:
    """Half a link, or the link of all hosts of a leaf."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str
    """Empty where the load is not known."""
    width: float
    title: str


@dataclass(frozen=True)
class Mark:
    """A link that is down or slow, told at a point of it."""

    x1: float
    y1: float
    x2: float
    y2: float
    x: float
    y: float
    kind: str
    """`down` or `slow`."""
    text: str
    title: str


@dataclass(frozen=True)
class Rectangle:
    """A switch, a closed pod, or the hosts of a leaf."""

    x: float
    y: float
    width: float
    height: float
    text: str
    state: str
    title: str
    upright: bool = False

    @property
    def middle_x(self) -> float:
        """Horizontal position of the text."""
        return self.x + self.width / 2

    @property
    def middle_y(self) -> float:
        """Vertical position of the text."""
        return self.y + self.height / 2


@dataclass
class Picture:
    """The whole drawing, in units of `SCALE` to an inch, the y axis downwards."""

    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    boxes: list[Rectangle] = field(default_factory=list)
    hosts: list[Rectangle] = field(default_factory=list)
    labels: list[tuple[float, str]] = field(default_factory=list)
    """Height and words, at the left edge."""


def switch_state(switch: SwitchState) -> str:
    """How a switch is drawn and listed."""
    if not switch.connected:
        return DOWN if switch.changed_s else UNKNOWN
    return DIFFERENT if switch.differences and switch.role != SECONDARY else OK


def picture(snapshot: Snapshot) -> Picture:
    """Draws a snapshot."""
    backdrop = _backdrop(snapshot.nodes, tuple((link.a, link.b) for link in snapshot.links))
    drawn = Picture(backdrop.drawing.across * SCALE, backdrop.drawing.height * SCALE)
    _draw_links(drawn, backdrop, snapshot.links)
    states = {switch.name: switch for switch in snapshot.switches}
    for index, box in enumerate(backdrop.drawing.laid.boxes):
        members = [snapshot.nodes[node].name for node in box.nodes]
        drawn.boxes.append(_box(backdrop, box, [states[name] for name in members if name in states]))
        hosts = backdrop.drawing.laid.hosts_of.get(index, [])
        if hosts:
            _draw_hosts(drawn, backdrop, box, [snapshot.nodes[host].name for host in hosts], snapshot.links)
    counts = tier_counts(backdrop.topology)
    rows = {name: backdrop.drawing.y(row) for row, name in enumerate(backdrop.drawing.laid.tiers)}
    rows |= {"host": BOTTOM + HOST_INCHES / 2} if counts["host"] else {}
    drawn.labels = [(backdrop.down(y), f"{count(counts[name])} {tier_words(name, counts)}") for name, y in rows.items()]
    return drawn


@dataclass(frozen=True)
class _Backdrop:
    """Parts of the drawing that do not change while the fabric is the same."""

    topology: Mapping[str, Any]
    drawing: Drawing
    lines: Mapping[int, tuple[tuple[float, float], tuple[float, float]]]
    """Line of each port; link i has the ports 2i, from a to b, and 2i + 1."""

    def down(self, y: float) -> float:
        return (self.drawing.height - y) * SCALE


@lru_cache(maxsize=2)
def _backdrop(nodes: tuple[NodeState, ...], links: tuple[tuple[str, str], ...]) -> _Backdrop:
    number = {node.name: index for index, node in enumerate(nodes)}
    ends = [(number[a], number[b]) for a, b in links]
    topology = {
        "hosts": sum(node.tier == "host" for node in nodes),
        "nodes": {
            "name": [node.name for node in nodes],
            "tier": [node.tier for node in nodes],
            "pod": [node.pod for node in nodes],
        },
        "ports": {
            "from": [node for a, b in ends for node in (a, b)],
            "to": [node for a, b in ends for node in (b, a)],
            "reverse": [port ^ 1 for port in range(2 * len(ends))],
        },
        "changes": [],
    }
    drawing = Drawing(layout(topology))
    return _Backdrop(topology, drawing, link_lines(drawing, topology))


def _draw_links(drawn: Picture, backdrop: _Backdrop, links: tuple[LinkState, ...]) -> None:
    shown = [index for index in range(len(links)) if 2 * index in backdrop.lines]
    crowd = min(1.0, max(0.18, (CROWD_LINKS / max(1, len(shown))) ** 0.5))
    fastest = max((links[index].rate_bps for index in shown), default=1) or 1
    halves: list[tuple[float, Line]] = []
    for index in shown:
        link = links[index]
        width = crowd * (1.2 + 2.4 * (link.rate_bps / fastest) ** 0.5)
        if link.up:
            for direction in (0, 1):
                (x1, y1), (x2, y2) = backdrop.lines[2 * index + direction]
                load = _fraction(link.load_bps[direction], link.rate_bps)
                points = (x1 * SCALE, backdrop.down(y1), (x1 + x2) / 2 * SCALE, backdrop.down((y1 + y2) / 2))
                colour = "" if load is None else heat(load)
                halves.append((load or 0.0, Line(*points, colour, width, _link_title(link))))
        if not link.up or link.rate_bps < link.built_rate_bps:
            drawn.marks.append(_mark(backdrop, 2 * index, link))
    # The busiest links are drawn last, on top.
    drawn.lines += [line for _, line in sorted(halves, key=lambda half: half[0])]
    if len(drawn.marks) > MARKS_MAX:
        drawn.marks = [Mark(**{**vars(mark), "text": ""}) for mark in drawn.marks]


def _mark(backdrop: _Backdrop, port: int, link: LinkState) -> Mark:
    (x1, y1), (x2, y2) = backdrop.lines[port]
    # The mark stands nearer to the lower end: other links cross in the middle.
    x, y = x1 + 0.3 * (x2 - x1), y1 + 0.3 * (y2 - y1)
    kind, text = ("slow", bit_rate(link.rate_bps)) if link.up else ("down", "down")
    ends = (x1 * SCALE, backdrop.down(y1), x2 * SCALE, backdrop.down(y2))
    return Mark(*ends, x * SCALE, backdrop.down(y), kind, text, _link_title(link))


def _link_title(link: LinkState) -> str:
    name = f"{link.a} - {link.b}" + (f" #{link.parallel}" if link.parallel else "")
    lines = [f"{name}: {bit_rate(link.rate_bps)}" if link.up else f"{name}: {link.reason or 'down'}"]
    for source, target, load_bps in ((link.a, link.b, link.load_bps[0]), (link.b, link.a, link.load_bps[1])):
        if load_bps is not None:
            lines.append(f"{source} to {target}: {bit_rate(load_bps)}")
    return "\n".join(lines)


def _fraction(load_bps: float | None, rate_bps: int) -> float | None:
    return None if load_bps is None or rate_bps <= 0 else load_bps / rate_bps


def _box(backdrop: _Backdrop, box: Box, members: list[SwitchState]) -> Rectangle:
    drawing = backdrop.drawing
    width = drawing.width(box)
    states = [switch_state(switch) for switch in members]
    worst = next((state for state in (DOWN, DIFFERENT, UNKNOWN) if state in states), OK)
    title = "\n".join(f"{switch.name}: {_words(switch)}" for switch in members)
    text = f"pod {box.name}" if box.rows > 1 else box.name if width >= NAME_INCHES else ""
    left, top = (drawing.x(box) - width / 2) * SCALE, backdrop.down(drawing.top(box))
    height = (drawing.top(box) - drawing.y(box.row) + BOX_INCHES / 2) * SCALE
    return Rectangle(left, top, width * SCALE, height, text, worst, title, upright=box.rows > 1)


def _words(switch: SwitchState) -> str:
    if switch.last_error:
        return switch.last_error
    if not switch.connected:
        return "not connected"
    return f"{switch.differences} changes to come" if switch.differences else "connected, holds the plan"


def _draw_hosts(drawn: Picture, backdrop: _Backdrop, box: Box, names: list[str], links: tuple[LinkState, ...]) -> None:
    """All hosts of a switch as one box, their links as one line with the colour of the mean."""
    mine = set(names)
    own = [link for link in links if link.a in mine or link.b in mine]
    width = backdrop.drawing.width(box)
    x, foot = backdrop.drawing.x(box) * SCALE, backdrop.drawing.y(box.row) - BOX_INCHES / 2
    low, high = backdrop.down(BOTTOM + HOST_INCHES), backdrop.down(foot)
    up = [_fraction(link.load_bps[0 if link.a in mine else 1], link.rate_bps) for link in own if link.up]
    down = [_fraction(link.load_bps[1 if link.a in mine else 0], link.rate_bps) for link in own if link.up]
    dead = [f"{link.a} - {link.b}: {link.reason or 'down'}" for link in own if not link.up]
    title = "\n".join([", ".join(names[:MARKS_MAX]) + (", ..." if len(names) > MARKS_MAX else ""), *dead[:MARKS_MAX]])
    middle = (low + high) / 2
    drawn.lines += [
        Line(x, low, x, middle, _mean_heat(up), 2.4, title),
        Line(x, middle, x, high, _mean_heat(down), 2.4, title),
    ]
    text = f"{len(names)}" if not dead else f"{len(names) - len(dead)} of {len(names)}"
    top = backdrop.down(BOTTOM + HOST_INCHES)
    left, height = x - width * SCALE / 2, HOST_INCHES * SCALE
    drawn.hosts.append(
        Rectangle(
            left,
            top,
            width * SCALE,
            height,
            text if width >= NAME_INCHES else "",
            DIFFERENT if dead else OK,
            title,
        )
    )


def _mean_heat(loads: list[float | None]) -> str:
    known = [load for load in loads if load is not None]
    return heat(sum(known) / len(known)) if known else ""
