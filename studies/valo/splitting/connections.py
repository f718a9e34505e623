"""Connections and weights of a trial, each from a random stream of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.split.trace import generate_trace
from anabranch.split.tuples import FIVE_TUPLE, flow_keys

from .study import Study


def stream(seed: int, *purpose: object) -> np.random.Generator:
    """Random numbers fixed by a seed and a purpose: another purpose shifts nobody's numbers."""
    return np.random.Generator(np.random.PCG64([seed, *"/".join(map(str, purpose)).encode()]))


def draw_weights(study: Study, paths: int, trial: int, *purpose: object) -> list[int]:
    """The weights of a trial, the same for all techniques (VALO sec. 3.1)."""
    low, high = study.weight_range
    return [int(w) for w in stream(study.seed, "weights", *purpose, paths, trial).integers(low, high + 1, paths)]


@dataclass(frozen=True)
class Pool:
    """Generated connections of all sources; each source holds an equal run of rows."""

    tuples: npt.NDArray[np.void]
    bytes: npt.NDArray[np.float64]
    sources: int
    hash: str
    seed: int

    @property
    def design_effect(self) -> float:
        """1 + CV^2 of the sizes: a split of bytes is as noisy as one of so many times fewer connections."""
        return float(1.0 + self.bytes.var() / self.bytes.mean() ** 2)

    def rows(self, connections: int, trial: int, *purpose: object) -> npt.NDArray[np.int64]:
        """Rows of a trial's connections: evenly from every source, without repeats, in random order."""
        rng = stream(self.seed, "connections", *purpose, connections, trial)
        each = self.tuples.size // self.sources
        parts = [
            rng.choice(each, (connections + source) // self.sources, replace=False, shuffle=False) + source * each
            for source in range(self.sources)
        ]
        return rng.permutation(np.concatenate(parts))

    def keys(self, rows: npt.NDArray[np.int64], trial: int) -> npt.NDArray[np.uint64]:
        """Flow keys; the hash is seeded by the trial, so that trials are independent draws."""
        # As plain records: NumPy gathers structured ones field by field, which takes ten times as long.
        plain = self.tuples.view(np.dtype((np.void, FIVE_TUPLE.itemsize)))
        return flow_keys(plain[rows].view(FIVE_TUPLE), self.hash, trial)


def generate(study: Study) -> Pool:
    """The connections of a study."""
    traces = [generate_trace(kind, study.pool, hash=study.hash, seed=study.seed) for kind in study.sources]
    # In network byte order, whose bytes `keys` takes as they are.
    tuples = np.concatenate([trace.tuples for trace in traces], dtype=FIVE_TUPLE)
    return Pool(
        tuples=tuples,
        bytes=np.concatenate([trace.bytes for trace in traces]).astype(np.float64),
        sources=len(traces),
        hash=study.hash,
        seed=study.seed,
    )
