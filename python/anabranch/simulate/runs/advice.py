"""Advice on a run that is too short: few flows in a class, a load not reached, queues that still grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anabranch.files.units import count
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.size_classes import SizeClass, size_classes
from anabranch.simulate.stats.starts import last_start_ns
from anabranch.simulate.stats.tier_load import achieved
from anabranch.simulate.stats.window import Window

FLOWS_MIN = 100
"""Finished flows of a class from which it has a 99th percentile."""
LOAD_REACHED = 0.9
"""Part of the offered load, which is payload alone, from which it counts as reached."""
BATCHES = 10
"""Parts of the time whose mean queues are compared."""
TREND_MIN = 0.6
"""Kendall's tau with time from which batches have a trend; chance alone passes it once in a hundred times."""
GROWTH_MIN = 1.5
"""Ratio of the second half's mean queue to the first's from which a trend is worth a word."""
QUEUE_MIN_BYTES = 1_500
"""Mean bytes at the switches' ports together, one frame, below which queues are empty."""


@dataclass(frozen=True)
class Seen:
    """Results of a run as far as advice looks at them."""

    flows: pl.DataFrame | pl.LazyFrame
    """Flows that count."""
    ports: pl.DataFrame
    """Intervals of ports within the window of measurement."""
    topology: Mapping[str, Any]
    offered: Sequence[Mapping[str, Any]]
    """Offered load by tier."""
    from_ns: float
    """Start of the window."""

    @property
    def arrivals(self) -> Window:
        """Time in which flows begin that count."""
        return Window(self.from_ns, last_start_ns(self.flows) or 0.0)


def advice(seen: Seen, classes: Sequence[SizeClass] | None = None) -> list[str]:
    """Sentences on what a longer run, or a window of measurement, would make better; none if nothing would."""
    chosen = size_classes() if classes is None else classes
    hints = (_few_flows(seen.flows, chosen), _load_not_reached(seen), _growing_queues(seen))
    return [sentence for sentence in hints if sentence]


def trend(batches: np.ndarray[Any, Any]) -> float:
    """Kendall's tau of values with their order (Mann 1945), by its definition: SciPy loads longer than a run takes."""
    earlier, later = np.triu_indices(len(batches), k=1)
    return float(np.sign(batches[later] - batches[earlier]).mean())


def _few_flows(flows: pl.DataFrame | pl.LazyFrame, classes: Sequence[SizeClass]) -> str:
    """Messages of a job do not count: their number is the job's, and its steps are what one asks for."""
    counts = pl.col("finished") & pl.col("job").is_null()
    numbers = [(one.holds() & counts).sum().alias(str(index)) for index, one in enumerate(classes)]
    few = dict(zip((one.label for one in classes), collected(flows.select(numbers)).row(0), strict=True))
    few = {label: number for label, number in few.items() if 0 < number < FLOWS_MIN}
    if not few:
        return ""
    listed = ", ".join(f"{label}: {count(number)}" for label, number in few.items())
    longer = FLOWS_MIN / min(few.values())
    return (
        f"few flows finished in some classes ({listed}): below {FLOWS_MIN} there is no 99th percentile, and a mean "
        f"says little; hint: traffic.duration {_times(longer)} as long, or more seeds"
    )


def _load_not_reached(seen: Seen) -> str:
    offered = {row["tier"]: float(row["load"]) for row in seen.offered}
    got = {row.direction: row.mean_pct / 100 for row in achieved(seen.topology, seen.ports, seen.arrivals.to_ns)}
    short = {
        tier: (got[tier], load)
        for tier, load in offered.items()
        if tier in got and 0 < load < 1 and got[tier] < LOAD_REACHED * load
    }
    if not short:
        return ""
    tier, (reached, load) = min(short.items(), key=lambda item: item[1][0] / item[1][1])
    return (
        f"the load was not reached while flows began: {tier} carried {reached:.2f} of its capacity, {load:.2f} were "
        "offered; hint: a longer traffic.duration, with measure.from behind the time that the load takes to build up"
    )


def _growing_queues(seen: Seen) -> str:
    window = seen.arrivals
    batches = _batches(seen.topology, seen.ports, window)
    if batches is None or batches.mean() < QUEUE_MIN_BYTES:
        return ""
    half = BATCHES // 2
    growth = batches[half:].mean() / max(batches[:half].mean(), 1.0)
    if trend(batches) < TREND_MIN or growth < GROWTH_MIN:
        return ""
    return (
        f"queues of switches still grew while flows began, to {_times(growth)} the first half's in the second; "
        "hint: measure.from behind the warm-up, and a longer traffic.duration"
    )


def _batches(topology: Mapping[str, Any], ports: pl.DataFrame, window: Window) -> np.ndarray[Any, Any] | None:
    """Bytes waiting at the switches' ports together, mean of each batch of the window; None of too few intervals."""
    hosts = int(topology["hosts"])
    length_ns = window.to_ns - window.from_ns
    if length_ns <= 0:
        return None
    middle = pl.col("start_ns") + pl.col("length_ns") / 2
    number = ((middle - window.from_ns) / length_ns * BATCHES).floor().cast(pl.Int64)
    weighed = (
        ports.filter((pl.col("from") >= hosts) & (middle < window.to_ns))
        .group_by(number.alias("batch"))
        .agg(((pl.col("backlog_mean_bytes") * pl.col("length_ns")).sum() * BATCHES / length_ns).alias("bytes"))
        .sort("batch")
    )
    return weighed["bytes"].to_numpy() if weighed.height == BATCHES else None


def _times(factor: float) -> str:
    return f"{factor:.1f} times" if factor < 10 else f"{factor:.0f} times"
