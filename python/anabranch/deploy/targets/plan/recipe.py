"""Recipe by which a target installs a group, and the split that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.group import Group
from anabranch.split.stats.mape import mape, path_errors

UNKNOWN = -1
"""Path of a connection that does not tell its path."""
OUTSIDE = -2
"""Path of packets that the target does not take for IP, so that no rule sends them to the group."""


@dataclass(frozen=True)
class OwnHash:
    """The hash by which a target itself chooses, where it is known before anything is installed."""

    paths: Callable[[npt.NDArray[np.void]], npt.NDArray[np.intp]]
    """Path, from 0, of each connection (dtype `FIVE_TUPLE` or `CAPTURED`, shape (n,)), or `UNKNOWN` or `OUTSIDE`."""
    holds: str
    """Where the target hashes so."""


@dataclass(frozen=True)
class Reading:
    """What a target makes of packets with other headers around their 5-tuple, whatever the recipe."""

    is_outside: Callable[[npt.NDArray[np.void]], npt.NDArray[np.bool_]]
    """Connections (dtype `CAPTURED`) whose packets no rule sends to the group."""
    outside: str
    """Headers of those, and why."""
    is_portless: Callable[[npt.NDArray[np.void]], npt.NDArray[np.bool_]] | None = None
    """Connections that are hashed without their ports; None where that depends on the recipe, whose hash is known."""
    portless: str = ""
    """Headers of those."""
    unpredicted: str = ""
    """Why no recipe's hash is known beforehand; empty where one is."""


@dataclass(frozen=True)
class Recipe:
    """A setting to be written, and the split that it gives. Shares are exact, under a perfect hash."""

    name: str
    written: str
    """The setting, in a few words."""
    asked: list[float]
    """Desired shares by path, the dead at zero."""
    achieved: list[float]
    """Shares by path of the group as installed; what is missing to 1 goes into dead ports and is lost."""
    replanned: list[float]
    """Shares by path after the group is written anew over the living paths; `achieved` where none is dead."""
    used: int
    """Slots, rules, buckets or entries, as `unit` says; 0 where more are needed than there are."""
    limit: int | None
    """None where other limits come first."""
    unit: str
    gain: str
    """Why one would take it."""
    needs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Shell commands to paste."""
    own_hash: OwnHash | None = None
    """None where the hash is drawn as the machine starts, or is not modelled."""
    per_packet: bool = False
    """Whether every packet is a decision of its own, so that connections spread over the paths."""

    @property
    def lost(self) -> float:
        """Share of the traffic that goes into dead ports."""
        missing = 1.0 - sum(self.achieved)
        return missing if missing > 1e-9 else 0.0

    @property
    def error_pct(self) -> list[float | None]:
        """Signed relative error of each path; None where nothing is wanted."""
        errors = path_errors([*self.asked, 0.0], [*self.achieved, self.lost])[:-1]
        return [None if np.isnan(error) else float(error) for error in errors]

    @cached_property
    def mape_pct(self) -> float:
        """Mean absolute error of the paths in percent (VALO Eq. 1)."""
        return mape([*self.asked, 0.0], [*self.achieved, self.lost])

    @property
    def replanned_mape_pct(self) -> float:
        """The same after the group is written anew."""
        return mape(self.asked, self.replanned)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        values = asdict(replace(self, own_hash=None)) | {"needs": list(self.needs), "lines": list(self.lines)}
        del values["own_hash"]
        values |= {"error_pct": self.error_pct, "mape_pct": self.mape_pct, "lost_share": self.lost}
        return values | {"replanned_mape_pct": self.replanned_mape_pct}


def recipe(
    group: Group,
    name: str,
    written: str,
    shares: tuple[Sequence[float], Sequence[float]],
    size: tuple[int, int | None, str],
    gain: str,
    needs: Sequence[str] = (),
    lines: Sequence[str] = (),
    own_hash: OwnHash | None = None,
    per_packet: bool = False,
) -> Recipe:
    """A recipe for `group`; `shares` as installed and planned anew, `size` used, limit and unit."""
    achieved, replanned = ([float(share) for share in column] for column in shares)
    asked = [float(share) for share in group.asked]
    return Recipe(
        name, written, asked, achieved, replanned, *size, gain, tuple(needs), tuple(lines), own_hash, per_packet
    )


@dataclass(frozen=True)
class Forecast:
    """The recipes of a target, in the order in which they are preferred where their errors allow."""

    name: str
    title: str
    recipes: list[Recipe]
    refused: list[tuple[str, str]]
    """Names of recipes that cannot be, and why."""
    traps: list[str]
    reading: Reading | None = None
    """None where it depends on the device."""

    def recommended(self, bound_pct: float) -> Recipe:
        """The first whose error is at most `bound_pct`, or the one with the least error."""
        for candidate in self.recipes:
            if candidate.mape_pct <= bound_pct:
                return candidate
        return min(self.recipes, key=lambda candidate: candidate.mape_pct)
