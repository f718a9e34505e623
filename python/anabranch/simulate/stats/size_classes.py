"""Classes of flows by size: the mice, medium flows and elephants of papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from anabranch.files.errors import AnabranchError
from anabranch.files.units import bytes_text

DEFAULT_BOUNDS_BYTES = (100_000, 10_000_000)
"""Default bounds, 100 KB and 10 MB: the mice and elephants of most load-balancing papers."""

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class SizeClass:
    """Flows of more than `above_bytes` and at most `upto_bytes` of payload."""

    label: str
    above_bytes: int
    upto_bytes: int | None

    def holds(self) -> pl.Expr:
        """The condition on a frame with the column `size_bytes`."""
        inside = pl.col("size_bytes") > self.above_bytes
        return inside if self.upto_bytes is None else inside & (pl.col("size_bytes") <= self.upto_bytes)


ALL_FLOWS = SizeClass("all", 0, None)


def size_classes(bounds_bytes: Sequence[int] = DEFAULT_BOUNDS_BYTES) -> list[SizeClass]:
    """All flows, then the classes between the bounds."""
    edges = [0, *bounds_bytes]
    classes = [ALL_FLOWS]
    for low, high in zip(edges, bounds_bytes, strict=False):
        text = f"{'' if low == 0 else f'{bytes_text(low)} - '}{bytes_text(high)}"
        classes.append(SizeClass(f"up to {text}" if low == 0 else text, low, high))
    if bounds_bytes:
        classes.append(SizeClass(f"above {bytes_text(edges[-1])}", edges[-1], None))
    return classes


def parse_bounds(text: str) -> tuple[int, ...]:
    """Parses bounds, as in `100 KB,10 MB`.

    Raises:
        AnabranchError: a text is no size, or sizes do not ascend.

    """
    bounds = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([\d_.]+)\s*([A-Za-z]*)\s*", part)
        unit = UNITS.get((match[2] or "B").upper()) if match else None
        try:
            bytes_ = float(match[1]) * unit if match and unit else 0.0
        except ValueError:
            bytes_ = 0.0
        if bytes_ < 1:
            raise AnabranchError(f"classes: {part.strip() or text}: no size; give bounds such as 100 KB,10 MB")
        bounds.append(round(bytes_))
    if bounds != sorted(set(bounds)):
        raise AnabranchError(f"classes: {text}: bounds do not ascend; give the smallest first")
    return tuple(bounds)
