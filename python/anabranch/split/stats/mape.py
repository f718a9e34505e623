"""Error of a split: the distance from the desired shares, and the distance that chance alone would cause.

MAPE is the VALO paper's Eq. 1: the mean over the paths of |got - asked| / asked, in percent. Paths that should carry
nothing have no relative error and are left out. The *floor* is the expected MAPE of an ideal splitter that puts each
connection on a path independently with exactly the desired probability: no stateless technique can be expected to do
better.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.split.stats.binomial import at_most, exactly

Shares = npt.ArrayLike
"""Probabilities, one per path; their sum is 1."""

BAND_DRAWS = 4000
BAND_SEED = 20250609
CHANCE_DEVIATIONS = 6
"""Standard deviations up to which connections that share a cell count as put together by chance."""


def path_errors(asked: Shares, got: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Signed relative error of each path in percent; NaN if the path should carry nothing; shape (paths,).

    Args:
        asked: shares, shape (paths,).
        got: connections or bytes that each path carried, shape (paths,); any unit, at least one positive.

    """
    p = np.asarray(asked, dtype=np.float64)
    amounts = np.asarray(got, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, 100.0 * (amounts / amounts.sum() - p) / p, np.nan)


def mape(asked: Shares, got: npt.ArrayLike) -> float:
    """Mean absolute percentage error of a split (VALO Eq. 1), in percent; arguments as `path_errors`."""
    return float(np.nanmean(np.abs(path_errors(asked, got))))


def mape_floor(asked: Shares, connections: int) -> float:
    """Expected MAPE, in percent, of an ideal independent splitter over `connections` connections.

    Exact: E|X - Np| = 2 m q P(X = m) with X ~ Bin(N, p) and m = floor(Np) + 1 (De Moivre, 1730).
    """
    p = np.asarray(asked, dtype=np.float64)
    p = p[p > 0]
    m = np.floor(connections * p) + 1
    deviation = 2.0 * m * (1.0 - p) * exactly(m, connections, p)
    return float(np.mean(100.0 * deviation / (connections * p)))


def mape_expected(shares: Shares, asked: Shares, connections: int) -> float:
    """Expected MAPE, in percent, of an independent splitter whose true `shares` differ from those `asked` for.

    Exact: E|X - a| = Nq - a + 2 (a F(k; N, q) - Nq F(k - 1; N - 1, q)), k = floor(a), for X ~ Bin(N, q) and a = Np.
    Equals `mape_floor` if the two coincide.
    """
    q = np.asarray(shares, dtype=np.float64)
    p = np.asarray(asked, dtype=np.float64)
    q, p = q[p > 0], p[p > 0]
    mean, target = connections * q, connections * p
    k = np.floor(target)
    short = target * at_most(k, connections, q) - mean * at_most(k - 1, connections - 1, q)
    return float(np.mean(100.0 * (mean - target + 2.0 * short) / target))


def independent_connections(counts: npt.ArrayLike, cells: int) -> int:
    """Number of connections that a hash really places, where it gives many of them the same cell of a table.

    Those of one cell share their path, so `counts`, the connections of each cell that has any, weigh as
    (sum c)^2 / sum c^2 connections placed one by one (Kish, *Survey Sampling*, 1965, sec. 11.2), after what chance
    puts together in `cells` cells is taken off. All of them are as good as placed alone if sum c^2 lies within six
    standard deviations of chance: of multinomial counts its variance is 2 n (n - 1) (M - 1) / M^2.
    """
    c = np.asarray(counts, dtype=np.float64)
    n = float(c.sum())
    squares = float(np.sum(c**2))
    by_chance = n + n * (n - 1) / cells
    deviation = np.sqrt(2 * n * (n - 1) * (cells - 1)) / cells
    if cells == 1 or squares - by_chance <= CHANCE_DEVIATIONS * deviation:
        return int(n)
    together = (squares - n * n / cells) * cells / (cells - 1)
    return max(1, round(n * n / together))


def times_floor(error_pct: float, floor_pct: float) -> float | None:
    """Error as a multiple of its floor; None if the floor is zero: with one path chance has no effect."""
    return error_pct / floor_pct if floor_pct > 0 else None


def mape_band(asked: Shares, connections: int, level: float = 0.95) -> tuple[float, float]:
    """The central interval, in percent, in which one ideal split's MAPE falls with probability `level`.

    It is drawn from 4000 multinomial splits with a fixed seed, so that the same arguments give the same band.
    """
    p = np.asarray(asked, dtype=np.float64)
    p = p[p > 0]
    draws = np.random.Generator(np.random.PCG64(BAND_SEED)).multinomial(connections, p, BAND_DRAWS)
    errors = np.mean(100.0 * np.abs(draws / connections - p) / p, axis=1)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(errors, [tail, 1.0 - tail])
    return float(low), float(high)


def byte_floor(asked: Shares, sizes_bytes: npt.ArrayLike) -> float:
    """Expected byte-MAPE, in percent, of an ideal splitter of whole connections of these sizes.

    Connections of unequal size count as (sum b)^2 / sum b^2 equal ones (Kish, *Survey Sampling*, 1965,
    sec. 11.2): E|B_i - p_i B| = sqrt(2/pi p q sum b^2) in the normal limit.
    """
    p = np.asarray(asked, dtype=np.float64)
    p = p[p > 0]
    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    deviation = np.sqrt(2.0 / np.pi * p * (1.0 - p) * np.sum(sizes**2))
    return float(np.mean(100.0 * deviation / (p * sizes.sum())))


def total_variation(before: Shares, after: Shares) -> float:
    """Least fraction of connections that must change path when shares go from `before` to `after`.

    If `after` is longer, it has new paths, which had no share before.
    """
    p, q = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    paths = max(p.size, q.size)
    p, q = np.pad(p, (0, paths - p.size)), np.pad(q, (0, paths - q.size))
    return float(np.abs(p - q).sum() / 2.0)
