"""`anabranch split hashes`: the quality of each packet hash on the connections of a trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.split.request import Request
from anabranch.split.splitter import Hash, Splitter, hashes
from anabranch.split.stats.mape import mape, mape_floor, times_floor
from anabranch.split.stats.uniformity import chi_square, correlation, lost_expected_pct, lost_pct
from anabranch.split.trace import Trace
from anabranch.split.tuples import flow_keys


@dataclass(frozen=True)
class HashQuality:
    """Quality of one hash. The last three are joint: of the values HP_i that it gives a flow with path i as input."""

    name: str
    bits: int
    lost_pct: float
    lost_expected_pct: float
    """Loss of a perfect hash of as many bits, in percent."""
    chi2_per_df: float
    """Chi-square per degree of freedom over 256 bins of the hash value's top 8 bits."""
    p_value: float
    correlation: float
    """Pearson's correlation of HP_1 and HP_2: 0 if independent, as scoring needs them."""
    scoring_mape_pct: float
    """MAPE of picking the path with the largest x_i HP_i, no finaliser, x_i the gravity of its weight."""
    floor_pct: float

    @property
    def times_floor(self) -> float | None:
        """The scoring error as a multiple of the floor."""
        return times_floor(self.scoring_mape_pct, self.floor_pct)


@dataclass(frozen=True)
class Comparison:
    """Quality of every hash over the connections of one trace."""

    trace: Trace
    weights: list[str]
    seed: int
    hashes: list[HashQuality]

    @property
    def record(self) -> dict[str, Any]:
        """Trace, weights and the quality of every hash as plain data."""
        return {
            "trace": {"name": self.trace.name, "connections": len(self.trace)},
            "weights": self.weights,
            "seed": self.seed,
            "hashes": [asdict(quality) for quality in self.hashes],
        }


def gravity(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Factors x_i with P(x_i U_i is the largest) = p_i for independent uniform U_i (VALO Eqs. 12 to 16).

    With p descending and A_k = (k - 1) p_k + sum over j >= k of p_j: x_{k+1} / x_k = (A_{k+1} / A_k)^(1/k).
    The same as the load factor multiplier of CARP (Valloppillil and Ross, 1998).
    """
    order = np.argsort(-shares, kind="stable")
    p = shares[order]
    a = np.arange(p.size) * p + np.cumsum(p[::-1])[::-1]
    steps = (a[1:] / a[:-1]) ** (1.0 / np.arange(1, p.size))
    factors = np.empty_like(p)
    factors[order] = np.concatenate([[1.0], np.cumprod(np.where(p[1:] > 0, steps, 0.0))])
    return factors


def compare(request: Request, trace: Trace) -> Comparison:
    """Puts the connections of `trace` through every hash."""
    asked = Splitter("random", request.weights).asked()
    qualities = [_quality(hash_, trace, asked, request.seed) for hash_ in hashes()]
    return Comparison(trace, list(request.weights), request.seed, qualities)


def _quality(hash_: Hash, trace: Trace, asked: npt.NDArray[np.float64], seed: int) -> HashQuality:
    values = hash_.results(flow_keys(trace.tuples, hash_.name, seed))
    uniformity = chi_square(values, hash_.bits)
    factors = gravity(asked)
    per_path = [
        hash_.results(flow_keys(_with_path(trace.tuples, path), hash_.name, seed)) for path in range(1, asked.size + 1)
    ]
    scores = np.stack([x * (v.astype(np.float64) + 0.5) for x, v in zip(factors, per_path, strict=True)])
    picked = np.bincount(np.argmax(scores, axis=0), minlength=asked.size)
    return HashQuality(
        name=hash_.name,
        bits=hash_.bits,
        lost_pct=lost_pct(values),
        lost_expected_pct=lost_expected_pct(len(trace), hash_.bits),
        chi2_per_df=uniformity.chi2_per_df,
        p_value=uniformity.p_value,
        correlation=correlation(per_path[0], per_path[1]) if asked.size > 1 else 0.0,
        scoring_mape_pct=mape(asked, picked),
        floor_pct=mape_floor(asked, len(trace)),
    )


def _with_path(tuples: npt.NDArray[np.void], path: int) -> npt.NDArray[np.void]:
    """The tuples with the path's number in their destination port, the last field that every hash reads."""
    changed: npt.NDArray[np.void] = tuples.copy()
    changed["destination_port"] ^= path
    return changed
