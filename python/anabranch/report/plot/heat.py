"""Colours of load, from idle to full."""

from __future__ import annotations

STOPS = ("#d5dee8", "#8fb6d9", "#f2c14e", "#d1495b", "#7a0f2b")
"""Colours at equal distances."""


def heat(fraction: float) -> str:
    """Colour of a load, a fraction that is limited to 0 to 1."""
    place = min(1.0, max(0.0, fraction)) * (len(STOPS) - 1)
    low = min(int(place), len(STOPS) - 2)
    pairs = zip(_channels(STOPS[low]), _channels(STOPS[low + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
