"""Sec. 4.1 of the VALO paper: scoring's counts against the volumes of the score graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from anabranch.reproduce.backends.splitter.study import Study
from anabranch.reproduce.backends.splitter.theory import LEVEL, volume_shares
from anabranch.reproduce.estimate import Band
from anabranch.splitter import Splitter
from anabranch.trace import generate_trace


@dataclass(frozen=True)
class Case:
    """One list of weights; one value per path."""

    weights: tuple[int, ...]
    counts: list[int]
    shares: list[float]
    """Volumes over their sum (Eq. 6)."""
    bands: list[Band]
    """Connections that the volumes lead to."""


def validate(study: Study) -> list[Case]:
    """Splits the study's connections by plain scoring."""
    wanted = study.validation
    trace = generate_trace(wanted.source, wanted.connections, hash=study.hash, seed=study.seed)
    return [_case(weights, trace.keys) for weights in wanted.weights]


def _case(weights: tuple[int, ...], keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Case:
    counts = np.bincount(Splitter("scoring", weights).pick(keys), minlength=len(weights))
    shares = volume_shares(weights)
    low, high = (binom.ppf(tail, keys.size, shares) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    bands = [Band(*map(float, row)) for row in zip(keys.size * shares, low, high, strict=True)]
    return Case(weights, [int(c) for c in counts], shares.tolist(), bands)
