"""Change of a fabric in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.files.units import bit_rate, time_text


def change_text(change: Mapping[str, Any]) -> str:
    """What a change of a topology (a record with `what`, `value`, `at_ns`) does and when, as in `2.5 Gbps, 5 ms`."""
    what, value, at_ns = str(change["what"]), float(change.get("value") or 0), float(change["at_ns"])
    when = f", {time_text(at_ns)}" if at_ns > 0 else ""
    for ending in ("down", "up"):
        if what.endswith(ending):
            return f"{ending}{when}"
    if what.endswith("rate"):
        return f"{bit_rate(value)}{when}"
    return f"{what.rpartition('_')[2]} {100 * value:.3g} %{when}"
