"""Ticks that carry their unit, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from anabranch.files.units import bytes_text, time_text

SHORT_DECADES = 1.6


def size_ticks(axis: Axis) -> None:
    """Labels ticks in bytes: `1 KB`, `10 KB`."""
    _decades(axis, bytes_text)


def time_ticks(axis: Axis) -> None:
    """Labels ticks in nanoseconds as `10 us`, `1 ms`."""
    _decades(axis, time_text)


def ratio_ticks(axis: Axis) -> None:
    """Labels ticks with plain numbers."""
    _decades(axis, lambda value: f"{value:g}")


def _decades(axis: Axis, text: Callable[[float], str]) -> None:
    """Places ticks by decades. Call it when the limits are final: short axes get 2 and 5 of each decade as well."""
    low, high = axis.get_view_interval()
    short = low > 0 and np.log10(high / low) < SHORT_DECADES
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,), numticks=7))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(NullLocator())
