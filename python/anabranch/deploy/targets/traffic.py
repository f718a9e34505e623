"""What each recipe makes of given connections: their own split, beside what chance makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.forecast import Forecasts
from anabranch.deploy.targets.plan.captured import captured
from anabranch.deploy.targets.plan.recipe import OUTSIDE, UNKNOWN, Forecast, Reading, Recipe
from anabranch.split.stats.mape import byte_floor, mape, mape_band, mape_expected, mape_floor
from anabranch.split.trace import Trace

NEAR_FLOOR = 1.1
"""Errors up to this multiple of the noise floor count as chance alone: no other recipe could do visibly better."""


@dataclass(frozen=True)
class Outcome:
    """One recipe over the connections of a trace."""

    recipe: Recipe
    expected_pct: float
    """MAPE over these connections that the recipe's shares and chance give on average, in percent."""
    connections: list[int] | None
    """Connections by path, by the target's own hash; None where that is not known before anything is installed."""
    bytes: list[int] | None
    """And their bytes."""
    unknown: int
    """Connections that do not tell their path to the target's own hash; they are in neither list."""
    outside: int
    """Connections that the target does not take for IP, so that they do not come to the group; in neither list."""
    portless: int
    """Connections that are hashed without their ports; 0 where the lists have them."""
    lost: tuple[int, int]
    """Connections and bytes that go into dead ports; the lists do not have them."""

    @property
    def without_path(self) -> int:
        """Connections of which the target's own hash gives no path."""
        return self.unknown + self.outside

    @property
    def connections_pct(self) -> float | None:
        """MAPE of the connections, in percent."""
        return None if self.connections is None else _mape(self.recipe, self.connections, self.lost[0])

    @property
    def bytes_pct(self) -> float | None:
        """MAPE of their bytes, in percent."""
        return None if self.bytes is None else _mape(self.recipe, self.bytes, self.lost[1])

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "expected_mape_pct": self.expected_pct,
            "connections": self.connections,
            "connections_mape_pct": self.connections_pct,
            "bytes": self.bytes,
            "bytes_mape_pct": self.bytes_pct,
            "unknown_connections": self.unknown,
            "outside_connections": self.outside,
            "portless_connections": self.portless,
            "lost_connections": self.lost[0],
            "lost_bytes": self.lost[1],
        }


@dataclass(frozen=True)
class OnTraffic:
    """Forecasts of a group over the connections of one trace, each direction of a conversation a connection."""

    forecasts: Forecasts
    trace: Trace

    @cached_property
    def floor_pct(self) -> float:
        """MAPE of the connections that an ideal hash has on average."""
        return mape_floor(self.forecasts.group.asked, len(self.trace))

    @cached_property
    def band_pct(self) -> tuple[float, float]:
        """The interval in which 95 of 100 ideal hashes fall."""
        return mape_band(self.forecasts.group.asked, len(self.trace))

    @cached_property
    def byte_floor_pct(self) -> float | None:
        """MAPE of the bytes that an ideal hash of whole connections has on average; None if the trace has no bytes."""
        return byte_floor(self.forecasts.group.asked, self.trace.bytes) if self.trace.bytes.any() else None

    @cached_property
    def largest_share(self) -> float | None:
        """Part of all bytes that is one connection; None if the trace has no bytes."""
        return float(self.trace.bytes.max() / self.trace.bytes.sum()) if self.trace.bytes.any() else None

    @cached_property
    def outcomes(self) -> list[list[Outcome]]:
        """Of every recipe of every target, in their order."""
        return [
            [self._outcome(recipe, target.reading) for recipe in target.recipes] for target in self.forecasts.targets
        ]

    def recommended(self, outcomes: Sequence[Outcome]) -> Outcome:
        """The first that chance alone explains over these connections, or the one with the least error to expect."""
        for outcome in outcomes:
            if self.explained(outcome):
                return outcome
        return min(outcomes, key=lambda outcome: outcome.expected_pct)

    @cached_property
    def best(self) -> tuple[Forecast, Outcome]:
        """The recommended recipe of the first target that has one which chance explains; else that with least error."""
        fitting = [
            (target, self.recommended(row)) for target, row in zip(self.forecasts.targets, self.outcomes, strict=True)
        ]
        explained = [pair for pair in fitting if self.explained(pair[1])]
        return explained[0] if explained else min(fitting, key=lambda pair: pair[1].expected_pct)

    def explained(self, outcome: Outcome) -> bool:
        """Whether a recipe's error over these connections is what an ideal hash would have, too.

        Not where the target's hash of none of them is known: it may well put all on one path.
        """
        if outcome.without_path == len(self.trace) or outcome.expected_pct > NEAR_FLOOR * self.floor_pct:
            return False
        return outcome.connections_pct is None or outcome.connections_pct <= self.band_pct[1]

    @property
    def record(self) -> dict[str, Any]:
        """The forecasts as plain data, with the trace and the outcome of each recipe."""
        document = self.forecasts.record
        document["trace"] = {
            "name": self.trace.name,
            "connections": len(self.trace),
            "bytes": int(self.trace.bytes.sum()),
            "floor_mape_pct": self.floor_pct,
            "band_mape_pct": list(self.band_pct),
            "byte_floor_mape_pct": self.byte_floor_pct,
            "largest_connection_share": self.largest_share,
        }
        for target, outcomes in zip(document["targets"], self.outcomes, strict=True):
            target["recommended"] = self.recommended(outcomes).recipe.name
            for recipe, outcome in zip(target["recipes"], outcomes, strict=True):
                recipe["on_trace"] = outcome.as_dict()
        target, outcome = self.best
        return document | {"recommended": {"target": target.name, "recipe": outcome.recipe.name}}

    def _outcome(self, recipe: Recipe, reading: Reading | None) -> Outcome:
        tuples = captured(self.trace)
        outside, portless = (
            0 if read is None else int(read(tuples).sum())
            for read in ((None, None) if reading is None else (reading.is_outside, reading.is_portless))
        )
        if recipe.per_packet:
            return Outcome(recipe, recipe.mape_pct, None, None, 0, outside, 0, (0, 0))
        expected = mape_expected(recipe.achieved, recipe.asked, len(self.trace))
        if recipe.own_hash is None:
            return Outcome(recipe, expected, None, None, 0, outside, portless, (0, 0))
        paths = recipe.own_hash.paths(tuples)
        known = paths >= 0
        unknown, outside = int((paths == UNKNOWN).sum()), int((paths == OUTSIDE).sum())
        if not known.any():
            return Outcome(recipe, expected, None, None, unknown, outside, portless, (0, 0))
        counts = _by_path(paths[known], np.ones(known.sum()), len(recipe.asked))
        bytes_by_path = _by_path(paths[known], self.trace.bytes[known], len(recipe.asked))
        up = np.array(self.forecasts.group.up)
        lost = int(counts[~up].sum()), int(bytes_by_path[~up].sum())
        living = np.where(up, counts, 0).tolist(), np.where(up, bytes_by_path, 0).tolist()
        return Outcome(recipe, expected, *living, unknown, outside, portless, lost)


def _by_path(paths: npt.NDArray[np.intp], amounts: npt.ArrayLike, count: int) -> npt.NDArray[np.int64]:
    return np.bincount(paths, np.asarray(amounts, np.float64), count).astype(np.int64)


def _mape(recipe: Recipe, got: Sequence[int], lost: int) -> float | None:
    """MAPE of a split, in percent; None where nothing arrived anywhere."""
    return mape([*recipe.asked, 0.0], [*got, lost]) if sum(got) + lost else None
