"""Numbers as people read them, the same on the terminal and on paper."""

from __future__ import annotations


def pct(value: float) -> str:
    """A percentage without its sign: about three significant digits, `<0.001` below that."""
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        return "<0.001"
    if abs(value) < 1:
        return f"{value:.3f}"
    if abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def ratio(value: float) -> str:
    """A ratio with its sign: `1.02x`."""
    if 0 < value < 0.01:
        return "<0.01x"
    return f"{value:.2f}x" if value < 10 else f"{value:,.0f}x"


def nanoseconds(value: float) -> str:
    """Nanoseconds, without the unit."""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def amount(value: float) -> str:
    """Bytes with a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def count(value: float) -> str:
    """A whole number with commas."""
    return f"{value:,.0f}"
