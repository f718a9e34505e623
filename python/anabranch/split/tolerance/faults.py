"""Faults of a switch that a test of its split is to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose
from anabranch.split.tolerance.extremes import Floats

FAULTS = {
    "missing": "one member gets nothing",
    "equal": "weights are ignored (ECMP)",
    "off": "one member is off by {:g} %",
    "values": "the hash sees {:,.0f} values",
}
AMOUNTS = {"off": (0.0, 1e6), "values": (1.0, 1e15)}
"""Least and most amount of the faults that have one."""


@dataclass(frozen=True)
class Fault:
    """One fault, with its amount: percent of a member's share, or values of the hashed field."""

    kind: str
    amount: float | None = None

    @property
    def text(self) -> str:
        """The fault, as users write it."""
        return self.kind if self.amount is None else f"{self.kind}:{self.amount:g}"

    @property
    def label(self) -> str:
        """The fault in words."""
        return FAULTS[self.kind].format(self.amount)

    @property
    def values(self) -> int | None:
        """Number of values that the hash sees, where that is the fault."""
        return int(self.amount) if self.kind == "values" and self.amount is not None else None

    def differs(self, shares: Floats, values: int | None) -> bool:
        """Whether a switch that is right, with as many values of the hashed field, splits otherwise."""
        if self.values is not None:
            return values is None or values > self.values
        return self.kind != "equal" or bool((shares != shares[0]).any())

    def shares(self, shares: Floats) -> Iterator[Floats]:
        """Shares of the members under the fault, for each member of another share that may have it."""
        if self.kind == "values":
            yield shares
        elif self.kind == "equal":
            yield np.where(shares > 0, 1.0, 0.0) / (shares > 0).sum()
        else:
            part = (self.amount or 0) / 100
            factors = (0.0,) if self.kind == "missing" else (1 - part, 1 + part)
            for member in np.unique(shares, return_index=True)[1]:
                for factor in factors:
                    if 0 < shares[member] < 1 and 0 <= factor * shares[member] < 1:
                        yield _scaled(shares, int(member), factor * shares[member])


def fault(text: str) -> Fault:
    """Reads a fault: `missing`, `equal`, `off:10` or `values:256`.

    Raises:
        AnabranchError: an unknown fault, or an amount that is missing or out of range.

    """
    name, colon, amount = text.strip().partition(":")
    kind = choose(name, list(FAULTS), "fault")
    if kind not in AMOUNTS:
        if colon:
            raise AnabranchError(f"fault: {text}: {kind} has no amount; write {kind}")
        return Fault(kind)
    least, most = AMOUNTS[kind]
    try:
        number = float(amount)
    except ValueError:
        number = -1.0
    if not least <= number <= most or number == 0:
        unit = "percent" if kind == "off" else "values"
        raise AnabranchError(
            f"fault: {text}: not a number of {unit}; write it as in {kind}:{10 if kind == 'off' else 256}"
        )
    return Fault(kind, number)


def _scaled(shares: Floats, member: int, share: float) -> Floats:
    """Shares with another one for one member; the others have the rest by theirs."""
    others: Floats = shares * (1 - share) / (1 - shares[member])
    others[member] = share
    return others
