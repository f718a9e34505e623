"""Positions of boxes and links of a drawn fabric, in inches from below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.report.plot.fabric_boxes import Box, Layout
from anabranch.report.plot.sheet import sheet

LEFT, RIGHT, TOP, BOTTOM = 1.55, 0.15, 0.1, 0.12
ROW_INCHES, BOX_INCHES, HOST_INCHES, HOST_DROP = 1.25, 0.26, 0.22, 0.62
PARALLEL_INCHES = 0.05
NAME_INCHES = 0.13
"""Least width of a box with a number in it."""

Point = tuple[float, float]


class Drawing:
    """Converts positions and rows to inches."""

    def __init__(self, laid: Layout) -> None:
        self.laid = laid
        self.across = sheet().width_inches
        # A handful of switches does not fill the page.
        self.column = min(1.15, (self.across - LEFT - RIGHT) / laid.columns)
        self.left = LEFT + (self.across - LEFT - RIGHT - self.column * laid.columns) / 2
        self.height = BOTTOM + HOST_INCHES + HOST_DROP + BOX_INCHES + ROW_INCHES * laid.height + TOP

    def x(self, box: Box) -> float:
        """Centre of a box."""
        return self.left + box.x * self.column

    def y(self, row: float) -> float:
        """Centre of a row."""
        return BOTTOM + HOST_INCHES + HOST_DROP + BOX_INCHES / 2 + ROW_INCHES * row

    def tier_heights(self) -> dict[str, float]:
        """Height of the name of each tier of switches."""
        if self.laid.ring:
            return {name: self.y(self.laid.height / 2) for name in self.laid.tiers}
        return {name: self.y(row) for row, name in enumerate(self.laid.tiers)}

    def width(self, box: Box) -> float:
        """Width of a box."""
        return min(0.62 if box.rows == 1 else 2.0, 0.8 * box.width * self.column)

    def top(self, box: Box) -> float:
        """Upper edge of a box."""
        return self.y(box.row + box.rows - 1) + BOX_INCHES / 2


def link_lines(drawing: Drawing, topology: Mapping[str, Any]) -> dict[int, tuple[Point, Point]]:
    """Line of each port that is drawn, from its own end; both ports of a link have the same line."""
    ports, laid = topology["ports"], drawing.laid
    between: dict[tuple[int, int], list[int]] = {}
    for port, (source, target) in enumerate(zip(ports["from"], ports["to"], strict=True)):
        low, high = laid.box_of.get(source), laid.box_of.get(target)
        if low is None or high is None:
            continue
        # A link within a box has no line.
        if low != high and (laid.boxes[low].row, source) < (laid.boxes[high].row, target):
            between.setdefault((low, high), []).append(port)
    lines = {}
    for (low, high), parallel in between.items():
        a, b = laid.boxes[low], laid.boxes[high]
        for number, port in enumerate(parallel):
            shift = (number - (len(parallel) - 1) / 2) * PARALLEL_INCHES
            if laid.ring:
                ends = ((drawing.x(a) + shift, drawing.y(a.row)), (drawing.x(b) + shift, drawing.y(b.row)))
            elif a.row == b.row:
                ends = _sideways(drawing, a, b, shift)
            else:
                ends = (
                    (drawing.x(a) + shift, drawing.top(a)),
                    (drawing.x(b) + shift, drawing.y(b.row) - BOX_INCHES / 2),
                )
            lines[port], lines[ports["reverse"][port]] = ends, ends[::-1]
    return lines


def _sideways(drawing: Drawing, a: Box, b: Box, shift: float) -> tuple[Point, Point]:
    left, right = (a, b) if a.x < b.x else (b, a)
    ends = (
        (drawing.x(left) + drawing.width(left) / 2, drawing.y(left.row) + shift),
        (drawing.x(right) - drawing.width(right) / 2, drawing.y(right.row) + shift),
    )
    return ends if left is a else ends[::-1]
