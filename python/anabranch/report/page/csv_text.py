"""Tables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A header and rows, lines ended by a line feed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
