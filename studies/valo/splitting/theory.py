"""Bands of chance: MAPEs of splits that follow a technique's shares exactly, over random weights.

Shares come from closed forms in NumPy and none from the code under test. Connections are then drawn independently. A
published mean of so many trials agrees with a technique if it lies in the central 95 % of such means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from anabranch.reproduce.values.estimate import Band
from anabranch.split.request import Choice

from .connections import stream

Floats = npt.NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
TABLES = ("replicas", "proportional")
"""Models whose shares depend on the technique's number of entries."""
ROW_DRAWS = 4000
"""At most so many draws of what is computed row by row."""


def volume_shares(weights: npt.ArrayLike) -> Floats:
    """Shares of plain scoring: volumes of the score graph (VALO Eq. 6) over their sum; shape (..., paths).

    With x descending and A_m = P(every stronger path scores below x_m) = prod_{j<m} (x_m / x_j), the m strongest
    share A_m - A_{m+1} evenly. The products X_{n,m} of Eq. 6 are never formed: they overflow.
    """
    x = np.asarray(weights, dtype=np.float64)
    order = np.argsort(-x, axis=-1, kind="stable")
    x = np.take_along_axis(x, order, axis=-1)
    paths = x.shape[-1]
    rank = np.arange(1, paths)
    a = np.concatenate([np.ones_like(x[..., :1]), np.cumprod((x[..., 1:] / x[..., :-1]) ** rank, axis=-1)], axis=-1)
    steps = (a - np.concatenate([a[..., 1:], np.zeros_like(a[..., :1])], axis=-1)) / np.arange(1, paths + 1)
    ranked = np.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
    shares = np.empty_like(ranked)
    np.put_along_axis(shares, order, ranked, axis=-1)
    return shares


def replica_shares(weights: npt.NDArray[np.int64], entries: int) -> Floats:
    """Shares of a WCMP table of at most `entries` replicas; shape (draws, paths).

    Zhou et al., EuroSys 2014, algorithm 1, over all rows at once: from one replica each, the path whose count would
    least exceed its weight grows, and of all tables on the way the one with the least oversubscription is taken.
    """
    rows = np.arange(len(weights))
    counts = np.ones_like(weights)
    best, best_over = counts.copy(), np.full(len(weights), np.inf)
    for size in range(weights.shape[1], entries + 1):
        # One division of whole numbers each: equal ratios compare as equal.
        over = (counts / (weights * size)).max(axis=-1)
        better = over < best_over
        best[better], best_over[better] = counts[better], over[better]
        counts[rows, ((counts + 1) / weights).argmin(axis=-1)] += 1
    return np.asarray(best / best.sum(axis=-1, keepdims=True), dtype=np.float64)


def proportional_shares(weights: npt.NDArray[np.int64], entries: int) -> Floats:
    """Shares of a table whose weights are scaled to about `entries`, at least one each (VALO Fig. 3b)."""
    shares = np.empty(weights.shape)
    for row, asked in enumerate(weights.tolist()):
        total, reduced = sum(asked), list(asked)
        before: list[int] = []
        while sum(reduced) > entries and reduced != before:
            room = max(0, entries - reduced.count(1))
            before, reduced = reduced, [max(1, (2 * w * room + total) // (2 * total)) for w in asked]
        shares[row] = np.array(reduced) / sum(reduced)
    return shares


def model_shares(technique: Choice, model: str, weights: npt.NDArray[np.int64]) -> Floats:
    """Shares of each row of weights under a model that draws every connection by itself."""
    if model == "equal":
        return np.full(weights.shape, 1.0 / weights.shape[-1])
    if model == "exact":
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)
    if model == "volumes":
        return volume_shares(weights)
    entries = int(dict(technique.parameters)["entries"])
    return replica_shares(weights, entries) if model == "replicas" else proportional_shares(weights, entries)


def turn_counts(weights: npt.NDArray[np.int64], connections: int) -> Floats:
    """Connections per path when each path takes all its turns in a row (published WRR); shape (draws, paths)."""
    turns = weights // np.gcd.reduce(weights, axis=-1, keepdims=True)
    rounds, left = np.divmod(connections, turns.sum(axis=-1, keepdims=True))
    before = np.cumsum(turns, axis=-1) - turns
    return np.asarray(rounds * turns + np.clip(left - before, 0, turns), dtype=np.float64)


def served_counts(weights: npt.NDArray[np.int64], connections: int) -> Floats:
    """Connections per path when each goes where sent over weight is least, ties to the first; shape (draws, paths).

    All counts whose turn comes at the same level, k / w at most (N - n) / W, then the few that are left one by one:
    the apportionment of Adams.
    """
    rows, paths = np.arange(len(weights)), weights.shape[-1]
    level = (connections - paths) / weights.sum(axis=-1, keepdims=True)
    # Half a turn less: what rounding might count too much comes one by one.
    counts = np.maximum(0, np.floor(level * weights - 0.5).astype(np.int64) + 1)
    left = connections - counts.sum(axis=-1)
    while left.any():
        least = (counts / weights).argmin(axis=-1)
        counts[rows, least] += left > 0
        left = np.maximum(0, left - 1)
    return np.asarray(counts, dtype=np.float64)


COUNTED: dict[str, Callable[[npt.NDArray[np.int64], int], Floats]] = {"turns": turn_counts, "served": served_counts}
"""Models that leave nothing to chance, with their counts."""


def mapes(asked: Floats, counts: Floats) -> Floats:
    """MAPE (VALO Eq. 1), in percent, of each row."""
    got = counts / counts.sum(axis=-1, keepdims=True)
    return np.asarray(100.0 * np.mean(np.abs(got - asked) / asked, axis=-1))


def jensen_random_pct(scoring_pct: float) -> float:
    """Least mean MAPE of random over two paths if scoring's mean is `scoring_pct` on the same weights.

    With rho the lighter over the heavier weight, scoring errs by (1 - rho^2) / 4 and random by (1/rho - rho) / 4. The
    second is a convex function of the first, so its mean is at least its value at the mean (Jensen).
    """
    rho = np.sqrt(1.0 - scoring_pct / 25.0)
    return float(25.0 * (1.0 / rho - rho))


class Theory:
    """Populations of single trials, drawn once each; `draws` trials of every kind."""

    def __init__(self, seed: int, weight_range: tuple[int, int], draws: int) -> None:
        self._seed = seed
        self._range = weight_range
        self._draws = draws
        self._populations: dict[tuple[object, ...], Floats] = {}
        self._shares: dict[tuple[object, ...], Floats] = {}

    def population(
        self, technique: Choice, model: str, point: tuple[int, int], weight_range: tuple[int, int] | None = None
    ) -> Floats:
        """MAPEs, in percent, of single trials at (paths, connections); shape (draws,)."""
        limits = weight_range or self._range
        key = (technique.label if model in TABLES else model, point, limits)
        if key not in self._populations:
            self._populations[key] = self._draw(technique, model, point, limits)
        return self._populations[key]

    def band(
        self,
        technique: Choice,
        model: str,
        points: Sequence[tuple[int, int]],
        trials: int,
        statistic: str = "mean",
        weight_range: tuple[int, int] | None = None,
    ) -> Band:
        """The mean over the points of the mean (or largest) of `trials` trials each."""
        populations = [self.population(technique, model, point, weight_range) for point in points]
        return resampled(
            populations, trials, statistic, stream(self._seed, "band", technique.label, model, *points, statistic)
        )

    def _draw(self, technique: Choice, model: str, point: tuple[int, int], limits: tuple[int, int]) -> Floats:
        paths, connections = point
        draws = min(self._draws, ROW_DRAWS) if model == "proportional" else self._draws
        weights = stream(self._seed, "theory weights", paths, *limits).integers(*limits, (draws, paths), endpoint=True)
        asked = weights / weights.sum(axis=-1, keepdims=True)
        if model in COUNTED:
            return mapes(asked, COUNTED[model](weights, connections))
        rng = stream(self._seed, "theory", model, paths, connections, *limits)
        shares = self._of(technique, model, weights, limits)
        return mapes(asked, rng.multinomial(connections, shares).astype(np.float64))

    def _of(self, technique: Choice, model: str, weights: npt.NDArray[np.int64], limits: tuple[int, int]) -> Floats:
        """Shares, computed once for each number of paths."""
        key = (technique.label, model, weights.shape, limits)
        if key not in self._shares:
            self._shares[key] = model_shares(technique, model, weights)
        return self._shares[key]


def resampled(populations: Sequence[Floats], trials: int, statistic: str, rng: np.random.Generator) -> Band:
    """How the mean, or the maximum, of `trials` draws from a population is spread; several average their bands.

    That is the widest band: it holds if the points of a sweep share their weights, on which the paper is silent.
    """
    of: Callable[..., Floats] = np.max if statistic == "max" else np.mean
    quantiles = []
    for one in populations:
        spread = of(rng.choice(one, (RESAMPLES, trials)), axis=1)
        middle = np.median(spread) if statistic == "max" else one.mean()
        quantiles.append([middle, *np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])])
    return Band(*map(float, np.mean(quantiles, axis=0)))
