"""Cables as they are heard: what one port of a switch says of its other end, against the file."""

from __future__ import annotations

from dataclasses import dataclass

UNCHECKED, DOWN, WAITING, RIGHT = "unchecked", "down", "waiting", "right"
UNHEARD, MISWIRED, LOSING = "unheard", "miswired", "losing"
WRONG = (UNHEARD, MISWIRED)
"""Verdicts of a cable that may be another than the file's."""
FAULTS = (*WRONG, LOSING, WAITING)
"""Verdicts with which a fabric is not as planned, or is not known to be."""


@dataclass(frozen=True)
class CableState:
    """One port of a switch towards another, and the verdict on its cable."""

    switch: str
    interface: str
    """Name of the port at the switch."""
    neighbour: str
    parallel: int
    """Number among the links of the two, from 0; with `neighbour` it names the link of the file."""
    neighbour_interface: str
    """Name of the port that the file has at the other end."""
    verdict: str
    """`right`, `miswired`, `unheard`, `losing`; `waiting` until one of them is known, `down` while there is no carrier,
    and `unchecked` where frames cannot be sent or heard."""
    text: str = ""
    """Sentence that says what is wrong, or why nothing is known; empty if all is well."""
    heard: tuple[str, ...] = ()
    """Ports that it hears, as `spine0 eth1`, and strangers by the names that they give themselves."""
