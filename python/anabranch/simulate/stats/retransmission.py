"""Transports that fight themselves: they send again what was not lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from anabranch.files.units import count
from anabranch.simulate.stats.lazily import collected

BEGINNING = "the transport fights itself"
"""Beginning of the warning."""
NOTABLE_RATIO = 1.2
"""Bytes sent over bytes needed from which a fabric that lost nothing has too many."""
EXTREME_RATIO = 3.0
"""The same where packets were lost: no recovery needs so many."""
NOTABLE_TIMEOUTS = 0.01
"""Timeouts for each flow from which they are worth a word where nothing was lost."""


def warning(flows: pl.DataFrame | pl.LazyFrame, ports: pl.DataFrame, refused: int) -> str | None:
    """Warns, in a sentence, of bytes sent again, timeouts without a loss and refused sends, with the key that helps.

    `refused`: RNR NAKs of the run. Bytes needed are those of the flows, of which a flow that has not finished counts
    what it has received.
    """
    begun = flows.filter(pl.col("sent_bytes") > 0)
    needed = pl.when(pl.col("finished")).then(pl.col("size_bytes")).otherwise(pl.col("received_bytes"))
    in_vain = pl.col("sent_bytes").cast(pl.Int64) - needed.cast(pl.Int64)
    sums = collected(
        begun.select(
            pl.len().alias("flows"),
            pl.col("sent_bytes").sum().alias("sent"),
            needed.sum().alias("needed"),
            (pl.col("dropped_packets") + pl.col("lost_packets")).sum().alias("lost"),
            pl.col("timeouts", "reordered_packets", "retransmitted_packets").sum(),
        )
    ).row(0, named=True)
    # Headers of trimmed packets arrive: what was cut off is counted where it was.
    trimmed = int(ports["trimmed_packets"].sum()) if "trimmed_packets" in ports.columns else 0
    whole = sums["lost"] + trimmed == 0
    sent_over_needed = sums["sent"] / max(sums["needed"], 1)
    again = sums["retransmitted_packets"] > 0 and sent_over_needed >= (NOTABLE_RATIO if whole else EXTREME_RATIO)
    hasty = whole and sums["timeouts"] > NOTABLE_TIMEOUTS * sums["flows"]
    refuses = refused > sums["flows"]
    if not (again or hasty or refuses):
        return None
    worst = collected(
        begun.select("flow", "timeouts", "sent_bytes", needed.alias("needed_bytes"), in_vain.alias("in_vain"))
        .sort("in_vain", "flow", descending=[True, False])
        .head(1)
    ).row(0, named=True)
    facts = [f"{sent_over_needed:.2f} times the bytes needed were sent"]
    if sums["timeouts"]:
        facts.append(f"{count(sums['timeouts'])} timeouts" + (" without a lost packet" if whole else ""))
    if refused:
        facts.append(f"{count(refused)} RNR NAKs")
    hints = []
    if refuses:
        hints.append('transport.semantics = "write", or receives that are posted before')
    if hasty or (again and sums["timeouts"] > 0):
        hints.append("a longer transport.rto (TCP: min_rto)")
    if again and sums["reordered_packets"] > 0:
        hints.append('transport.recovery = "selective" (TCP: transport.reorder), or whole flows on one path')
    if again and not whole:
        hints.append('a control that sees queues within the fabric (UEC: transport.control = "nscc+rccc")')
    if not hints:
        hints.append("transport.control, or a smaller transport.window")
    return (
        f"{BEGINNING}: {', '.join(facts)} (worst: flow {worst['flow']} sent {count(worst['sent_bytes'])} bytes where "
        f"{count(worst['needed_bytes'])} were needed, {count(worst['timeouts'])} timeouts); hint: {'; '.join(hints)}"
    )


def refused_sends(counts: Mapping[str, Any]) -> int:
    """RNR NAKs among the counts of a run."""
    return sum(int(number) for what, number in counts.items() if what.startswith("RNR NAKs"))
