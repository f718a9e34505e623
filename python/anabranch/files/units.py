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


def data_size(value: float) -> str:
    """Bytes of traffic with a decimal unit, three significant digits, as sizes of flows are written: `50.0 KB`."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        # A rounded 999.6 KB is 1.00 MB.
        if value >= 0.9995 * scale:
            return f"{significant(value / scale)} {unit}"
    return f"{value:.0f} B"


def amount(value: float) -> str:
    """Bytes of memory with a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def count(value: float) -> str:
    """A whole number with commas."""
    return f"{value:,.0f}"


def duration(ns: float) -> str:
    """A time with its unit, three significant digits."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        # A rounded 999.6 us is 1.00 ms.
        if abs(ns) >= 0.9995 * scale:
            return f"{significant(ns / scale)} {unit}"
    return f"{ns:.0f} ns"


def elapsed(seconds: float) -> str:
    """A time of seconds, minutes, hours or days: `3 min 20 s`."""
    if seconds < 60:
        return duration(seconds * 1e9) if seconds < 10 else f"{seconds:.0f} s"
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if days else f"{hours} h {minutes} min" if hours else f"{minutes} min {whole} s"


def coarse_duration(seconds: float) -> str:
    """A coarse time: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def significant(value: float) -> str:
    """Three significant digits without an exponent; whole numbers beyond."""
    size = abs(value)
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{value:,.{digits}f}"


def bit_rate(bps: float) -> str:
    """Bits per second with a decimal unit: `10 Gbps`."""
    for unit, scale in (("Tbps", 1e12), ("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3)):
        if bps >= scale:
            return f"{bps / scale:.4g} {unit}"
    return f"{bps:g} bps"


def bytes_text(value: float) -> str:
    """A round size with a decimal unit: `100 KB`, `1.5 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value:g} B"


def time_text(value_ns: float) -> str:
    """A round time with its unit: `10 us`, `1.5 ms`."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value_ns >= scale * (1 - 1e-9):
            return f"{value_ns / scale:g} {unit}"
    return f"{value_ns:g} ns"
