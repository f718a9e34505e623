"""Boxes of a drawn fabric: switches, and groups of them that are drawn as one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Box:
    """A switch, or several that are drawn as one, centred at `x`; `row` counts from the lowest tier.

    A closed pod spans `rows`, a server has the network cards of its accelerators in it.
    """

    x: float
    row: float
    name: str
    nodes: tuple[int, ...]
    width: float = 1.0
    rows: int = 1


@dataclass
class Layout:
    """All boxes, and the box of each node."""

    boxes: list[Box] = field(default_factory=list)
    box_of: dict[int, int] = field(default_factory=dict)
    hosts_of: dict[int, list[int]] = field(default_factory=dict)
    """Hosts by the box of their switch."""
    columns: float = 0.0
    """Width, in columns of one box each."""
    tiers: list[str] = field(default_factory=list)
    """Names of the rows, from below, without the hosts."""
    ring: bool = False
    """Whether boxes stand in a ring instead of rows: links lead from centre to centre, and hosts are not drawn."""
    height: float = 0.0
    """Rows above the lowest one."""

    def add(self, box: Box) -> None:
        """Adds a box and records the nodes in it."""
        for node in box.nodes:
            self.box_of[node] = len(self.boxes)
        self.boxes.append(box)
