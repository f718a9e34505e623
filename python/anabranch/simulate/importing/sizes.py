"""Distributions of flow sizes as HPCC and conweave-ns3 have them: bytes and percent on each line, up to 100."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.plain_text import lines

BYTES_MAX = 2**53


def read(text: str, file: str) -> str:
    """The distribution as CSV with the columns `size_bytes,cdf`, in the order of its lines.

    Raises:
        AnabranchError: a line is no size with a percentage, or the last is not 100.

    """
    rows: list[tuple[Decimal, Decimal]] = []
    for line in lines(text):
        try:
            size, percent = map(Decimal, line.words)
            before = rows[-1] if rows else (0, 0)
            if not (before[0] <= size < BYTES_MAX and before[1] <= percent <= 100):
                raise ValueError
        except (ValueError, InvalidOperation):
            problem = f"`{' '.join(line.words)}` is no size and percentage, each no less than in the line before"
            raise AnabranchError(f"{file}:{line.number}: {problem}; write bytes and percent") from None
        rows.append((size, percent))
    if not rows or rows[-1][1] != 100:
        raise AnabranchError(f"{file}: the last percentage is not 100; end with the largest size and 100")
    return "size_bytes,cdf\n" + "".join(f"{size:f},{percent / 100:f}\n" for size, percent in rows)
