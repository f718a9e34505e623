"""Bands of chance: MAPEs of splits that follow a technique's shares exactly, over random weights.

Shares come from closed forms in NumPy, not from the code under test, except a table's (model `table`), which are read
from its plan. Connections are then drawn independently. A published mean of so many trials agrees with a technique if
it lies in the central 95 % of such means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from anabranch.reproduce.backends.splitter.connections import stream
from anabranch.reproduce.estimate import Band
from anabranch.split.request import Choice
from anabranch.splitter import Splitter

Floats = npt.NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
TABLE_DRAWS = 4000
"""At most so many of tables, which take a plan each."""


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


def turn_counts(weights: npt.NDArray[np.int64], connections: int) -> Floats:
    """Connections per path when each path takes all its turns in a row (published WRR); shape (draws, paths)."""
    turns = weights // np.gcd.reduce(weights, axis=-1, keepdims=True)
    rounds, left = np.divmod(connections, turns.sum(axis=-1, keepdims=True))
    before = np.cumsum(turns, axis=-1) - turns
    return np.asarray(rounds * turns + np.clip(left - before, 0, turns), dtype=np.float64)


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
        self._tables: dict[tuple[object, ...], Floats] = {}

    def population(
        self, technique: Choice, model: str, point: tuple[int, int], weight_range: tuple[int, int] | None = None
    ) -> Floats:
        """MAPEs, in percent, of single trials at (paths, connections); shape (draws,)."""
        limits = weight_range or self._range
        key = (technique.label if model == "table" else model, point, limits)
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
        draws = min(self._draws, TABLE_DRAWS) if model == "table" else self._draws
        weights = stream(self._seed, "theory weights", paths, *limits).integers(*limits, (draws, paths), endpoint=True)
        asked = weights / weights.sum(axis=-1, keepdims=True)
        if model == "turns":
            return mapes(asked, turn_counts(weights, connections))
        shares: dict[str, Callable[[], Floats]] = {
            "equal": lambda: np.full(asked.shape, 1.0 / paths),
            "exact": lambda: asked,
            "volumes": lambda: volume_shares(weights),
            "table": lambda: self._table_shares(technique, weights, limits),
        }
        rng = stream(self._seed, "theory", model, paths, connections, *limits)
        return mapes(asked, rng.multinomial(connections, shares[model]()).astype(np.float64))

    def _table_shares(self, technique: Choice, weights: npt.NDArray[np.int64], limits: tuple[int, int]) -> Floats:
        """Shares of the table that is planned for each row of weights."""
        key = (technique.label, weights.shape[1], limits)
        if key not in self._tables:
            parameters = dict(technique.parameters)
            self._tables[key] = np.array(
                [Splitter(technique.name, row, None, **parameters).shares() for row in weights.tolist()]
            )
        return self._tables[key]


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
