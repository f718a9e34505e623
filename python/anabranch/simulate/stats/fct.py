"""Flow completion times, slowdowns and throughputs by size class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.simulate.stats.lazily import collected, numbers, numbers_by
from anabranch.simulate.stats.size_classes import SizeClass, size_classes
from anabranch.simulate.stats.window import counts

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
STATISTICS = ("mean", *QUANTILES)
MEASURES = ("fct_ns", "slowdown")
VALUES = {
    **{column: pl.col(column) for column in MEASURES},
    "throughput_bps": 8e9 * pl.col("size_bytes") / pl.col("fct_ns"),
}
"""Values of a flow by the beginning of their columns; throughput is payload over completion time."""


def quantile(values: npt.NDArray[np.float64], q: float, *, overwrite: bool = False) -> float | None:
    """Smallest value that at least the fraction `q` of all values does not exceed (nearest rank).

    It is the value of a real flow. None if there are fewer than 1 / (1 - q) values: their largest would be mistaken for
    a quantile that they cannot show. `overwrite` allows their order to change, which saves a copy of them.
    """
    if len(values) * (1 - q) < 1 - 1e-9:
        return None
    return float(np.quantile(values, q, method="inverted_cdf", overwrite_input=overwrite))


def statistics(values: npt.NDArray[np.float64], *, overwrite: bool = False) -> dict[str, float | None]:
    """Mean and quantiles, by the names in `STATISTICS`. `overwrite` allows the order of the values to change."""
    mean = float(values.mean()) if len(values) else None
    return {"mean": mean, **{name: quantile(values, q, overwrite=overwrite) for name, q in QUANTILES.items()}}


def by_class(flows: pl.DataFrame | pl.LazyFrame, classes: Sequence[SizeClass] | None = None) -> pl.DataFrame:
    """One row per size class, of the flows that count.

    Columns: `size_class`, `flows` (all of the class), `unfinished` (of those), and `fct_ns_mean`, `fct_ns_p50`, ...,
    `slowdown_p99.9`, ..., `throughput_bps_p99.9` over the finished ones; null where there are too few. Of a lazy frame,
    one column is in memory at a time.
    """
    ranges = size_classes() if classes is None else classes
    chosen = [one.holds() & counts(flows) for one in ranges]
    ended = [one & pl.col("finished") for one in chosen]
    totals = [one.sum().alias(str(number)) for number, one in enumerate([*chosen, *ended])]
    known = collected(flows.select(totals)).row(0)
    rows: list[dict[str, object]] = [
        {"size_class": one.label, "flows": total, "unfinished": total - finished}
        for one, total, finished in zip(ranges, known, known[len(ranges) :], strict=False)
    ]
    for column, value in VALUES.items():
        for row, values in zip(rows, numbers_by(flows, value, ended), strict=True):
            row |= {f"{column}_{name}": number for name, number in statistics(values, overwrite=True).items()}
    schema: dict[str, type[pl.DataType]] = {"size_class": pl.String, "flows": pl.Int64, "unfinished": pl.Int64}
    schema |= {f"{column}_{name}": pl.Float64 for column in VALUES for name in STATISTICS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def by_size(
    flows: pl.DataFrame | pl.LazyFrame, quantiles: Sequence[float], flows_per_bin_min: int = 30, bins_max: int = 20
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Slowdown against flow size, in bins of equally many finished flows that count; flows of one size by number.

    Returns the median size of each bin in bytes, shape (bins,), and the quantiles, shape (len(quantiles), bins);
    NaN where a bin has too few flows for a quantile.
    """
    chosen = counts(flows) & pl.col("finished")
    size = numbers(flows, pl.col("size_bytes"), chosen)
    order = np.argsort(size, kind="stable")
    bins = [part for part in np.array_split(order, max(1, min(bins_max, len(size) // flows_per_bin_min))) if len(part)]
    middles = np.array([np.median(size[part]) for part in bins], dtype=np.float64)
    # One column of many flows at a time.
    del size
    slowdown = numbers(flows, pl.col("slowdown"), chosen)
    levels = [[quantile(slowdown[part], q) for q in quantiles] for part in bins]
    return middles, np.array(levels, dtype=np.float64).reshape(-1, len(quantiles)).T
