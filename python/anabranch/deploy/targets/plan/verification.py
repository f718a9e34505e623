"""Whether a split that was measured is the one that was planned, or chance, or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from anabranch.split.stats.mape import mape, mape_floor
from anabranch.split.tolerance.chance import FALSE_ALARMS, chance, explained_picks, percent

SHORTFALL_LEAST_PCT = 1.0
"""Difference of a path's planned share to the weights of the living that is worth a sentence."""
SURE_PCT = 5.0
"""Error by chance alone up to which a measurement, or a hash, says something."""


class Verdict(Enum):
    """The verdict of a measurement."""

    RIGHT = "as planned"
    WRONG = "wrong"
    UNSURE = "cannot tell"


@dataclass(frozen=True)
class Measured:
    """One group: what it should do with the paths that live, and what it did."""

    name: str
    recipe: str
    ports: tuple[str, ...]
    up: tuple[bool, ...]
    asked: tuple[float, ...]
    """Share of each path by the weights."""
    planned: tuple[float, ...]
    """Share that the recipe really gives each path as the ports are; a dead one none."""
    packets: tuple[int, ...]
    error_pct: float
    """Error that the plan allows."""
    connections: int | None = None
    """Connections that passed during the measurement, or `None` if unknown."""
    counted: str = "packets"
    """Unit of `packets`: a kernel answers look-ups instead."""
    unsteady: bool = False
    """Whether ports or rules changed meanwhile."""
    within: float | None = None
    """Packets that a path may be off by, where paths take turns and chance has no part in it."""
    is_table: bool = False
    """Whether `packets` are entries of the table that decides for every packet: chance has no part in it."""
    doubt: str | None = None
    """Why packets may not be split so, although nothing that was measured is wrong."""

    @property
    def total(self) -> int:
        """Packets in all."""
        return sum(self.packets)

    @property
    def astray(self) -> int:
        """Packets on paths that should get none."""
        return sum(count for count, share in zip(self.packets, self.planned, strict=True) if share == 0)

    @property
    def mape_pct(self) -> float | None:
        """Mean absolute error of the paths in percent (VALO Eq. 1), by what the recipe gives; None without packets."""
        return mape(self.planned, self.packets) if self.total and any(self.planned) else None

    @property
    def asked_of_living(self) -> tuple[float, ...]:
        """Share of each path by the weights of the paths whose ports are up; a dead one none."""
        living = [share if up else 0.0 for share, up in zip(self.asked, self.up, strict=True)]
        return tuple(share / (sum(living) or 1.0) for share in living)

    @property
    def asked_mape_pct(self) -> float | None:
        """Mean absolute error of the paths in percent by the weights of the living ones; None without packets."""
        asked = self.asked_of_living
        return mape(asked, self.packets) if self.total and any(asked) else None

    @property
    def shortfall(self) -> tuple[str, float] | None:
        """Port whose planned share is farthest from the weights of the living, and by how many percent of it.

        None where no port is down, or where the plan's own error allows the difference.
        """
        if all(self.up):
            return None
        off = [
            (port, 100 * (planned / asked - 1))
            for port, planned, asked in zip(self.ports, self.planned, self.asked_of_living, strict=True)
            if asked
        ]
        worst = max(off, key=lambda one: abs(one[1]), default=None)
        return worst if worst is not None and abs(worst[1]) > max(self.error_pct, SHORTFALL_LEAST_PCT) else None

    def chance(self, connections: int) -> float:
        """Probability that chance alone puts a path of so many connections of equal size as far off as one is."""
        return chance(np.array(self.planned), self.packets, connections)

    @property
    def explained_by(self) -> int:
        """The most connections of equal size whose split chance explains; there are no more than packets."""
        return explained_picks(np.array(self.planned), self.packets, self.total)

    @property
    def judged(self) -> tuple[Verdict, str]:
        """The verdict, and why."""
        verdict, why = self._measured
        return (verdict, why) if verdict is Verdict.WRONG or self.doubt is None else (Verdict.UNSURE, self.doubt)

    @property
    def _measured(self) -> tuple[Verdict, str]:
        if self.unsteady:
            return Verdict.UNSURE, "ports or rules changed meanwhile; measure again"
        if not any(self.planned):
            return Verdict.UNSURE, "no port that should carry some is up"
        error = self.mape_pct
        if error is None:
            return Verdict.UNSURE, "no packet came; send some, or measure for longer"
        if self.astray:
            return Verdict.WRONG, f"{self.astray:,} packets left by ports that should carry none"
        if error == 0 or sum(share > 0 for share in self.planned) == 1:
            return Verdict.RIGHT, "exactly"
        if self.is_table:
            off = sum(abs(got - share * self.total) for got, share in zip(self.packets, self.planned, strict=True)) / 2
            # Half an entry is room for the rounding of shares, which is far smaller.
            if off < 0.5:
                return Verdict.RIGHT, "exactly"
            return Verdict.WRONG, f"{off:.0f} of {self.total:,} {self.counted} have another path than planned"
        if self.within is not None:
            off = max(abs(got - share * self.total) for got, share in zip(self.packets, self.planned, strict=True))
            most = f"taking turns puts no path off by more than {self.within:,.0f} packets"
            # Half a packet is room for the rounding of shares, which is far smaller.
            if off < self.within + 0.5:
                return Verdict.RIGHT, most
            return Verdict.WRONG, f"{most}, and one is off by {off:,.0f}"
        if self.connections is None:
            if error <= self.error_pct:
                return Verdict.RIGHT, f"within the {self.error_pct:g} % of the plan"
            few = self.explained_by
            return Verdict.UNSURE, f"chance explains it if no more than {few:,} connections passed; give --connections"
        count = min(self.connections, self.total)
        likely, floor = self.chance(count), mape_floor(self.planned, count)
        why = f"chance alone puts {count:,} connections as far off in {percent(likely)} % of trials"
        if likely < FALSE_ALARMS and error > self.error_pct:
            return Verdict.WRONG, why
        if floor > max(SURE_PCT, self.error_pct):
            return Verdict.UNSURE, f"too few connections: chance alone puts {count:,} off by {floor:.2g} %"
        return Verdict.RIGHT, why


@dataclass(frozen=True)
class Verified:
    """A plan held against a target."""

    lines: list[str]
    """Differences between plan and target; what was measured counts only without them."""
    warnings: list[str]
    groups: list[Measured]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: wrong if anything is, and nothing to tell if that is so of a group."""
        verdicts = {group.judged[0] for group in self.groups}
        if self.lines or Verdict.WRONG in verdicts:
            return Verdict.WRONG
        return Verdict.UNSURE if Verdict.UNSURE in verdicts else Verdict.RIGHT
