"""Verdict on the counters of a split: chance, or which fault explains them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Weight
from anabranch.split.tolerance.chance import FALSE_ALARMS, chance, explained_picks, member_chance, percent
from anabranch.split.tolerance.extremes import Floats
from anabranch.split.tolerance.tolerance import Tolerance

Names = npt.NDArray[np.object_]
NAMES_SHOWN = 8


class Cause(Enum):
    """The cause of what counters show."""

    CHANCE = "chance explains this"
    FEW_VALUES = "the hash sees too few values"
    WEIGHTS = "weights are not honoured"
    MISSING = "one member is missing"
    SEVERAL_MISSING = "several members are missing"
    OFF = "one member is off"
    UNSURE = "cannot tell"


@dataclass(frozen=True)
class Counted:
    """Counter of one member beside what it should be."""

    name: str
    """Name of the member; its number from 1 where it has none."""
    share: float
    got: int
    expected: float
    chance: float | None
    """Probability that an ideal hash puts this member as far off to either side; None where flows are not known."""


@dataclass(frozen=True)
class Judgement:
    """A verdict on counters."""

    cause: Cause
    reason: str
    """The reason, in a sentence or two."""
    chance: float | None
    """Probability that an ideal hash puts any member as far off as the farthest is; None where flows are not known."""
    picks: int | None
    """Independent picks of a member behind the counters."""
    values: tuple[float, float] | None
    """Values that the hash sees, by how far all members are off: ends of the 95 % interval; None without need."""
    members: list[Counted]


def judge(
    counters: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    flows: int | None = None,
    values: int | None = None,
    packets_per_flow: float | str | None = None,
    false_alarms: float = FALSE_ALARMS,
) -> Judgement:
    """Judges the counters of a split: whether chance explains them, or else which fault does.

    Args:
        counters: packets of each member, shape (members,).
        names: one per member; numbers from 1 when left out.
        weights: one per member; equal ones when left out.
        flows: number of flows behind the counters; when left out, packets over `packets_per_flow`, or not known.
        values: distinct values of the hashed field that the flows have; None for one each.
        packets_per_flow: as in `Tolerance`; None if it is not known, when flows count as equal.
        false_alarms: probability below which chance does not explain what is seen.

    Raises:
        AnabranchError: a value is out of range, or there are not as many counters as weights.

    """
    got = np.asarray(counters, dtype=np.float64)
    if got.ndim != 1 or got.size < 2 or (got < 0).any() or not np.isfinite(got).all():
        raise AnabranchError(f"counters: {counters}: not two or more counts; give one for each member")
    test = Tolerance(
        None if weights is not None and len(weights) == got.size else got.size,
        weights=weights,
        values=values,
        packets_per_flow=1 if packets_per_flow is None else packets_per_flow,
        false_alarms=false_alarms,
    )
    if flows is None and packets_per_flow is not None:
        flows = max(1, round(got.sum() / test.packets_mean))
    if flows is not None and got.sum() and flows > got.sum():
        raise AnabranchError(f"flows: {flows}: only {got.sum():,.0f} packets were counted; give no more flows")
    picks = None
    if got.sum() and (flows is not None or values is not None):
        picks = test.picks(flows or int(got.sum()))
    named = np.array(names if names is not None else range(1, got.size + 1), dtype=object)
    cause, reason, likely = _judged(test.shares, got, picks, false_alarms, named)
    each = None if picks is None else member_chance(test.shares, got, picks)
    members = [
        Counted(
            str(named[index]),
            share,
            int(got[index]),
            share * float(got.sum()),
            None if each is None else float(each[index]),
        )
        for index, share in enumerate(test.shares.tolist())
    ]
    values_seen = _values(test.shares, got) if cause in (Cause.FEW_VALUES, Cause.WEIGHTS) else None
    return Judgement(cause, reason, likely, picks, values_seen, members)


def _judged(
    shares: Floats, got: Floats, picks: int | None, rate: float, names: Names
) -> tuple[Cause, str, float | None]:
    total = int(got.sum())
    if total == 0:
        return Cause.UNSURE, "no packet came; send some", None
    astray = (shares == 0) & (got > 0)
    if astray.any():
        carried = f"{got[astray].sum():,.0f} packets left by {_listed(names[astray])} of weight 0"
        return Cause.WEIGHTS, carried, 0.0
    if picks is None:
        if chance(shares, got, total) >= rate:
            return Cause.CHANCE, f"even if each of the {total:,} packets was a flow of its own", None
        few = explained_picks(shares, got, total, rate)
        otherwise = _fault(shares, got, total, rate, names)[0].value
        few_words = f"chance explains this if no more than {few:,} flows passed, and if more did, {otherwise}"
        return Cause.UNSURE, f"{few_words}; give the number of flows", None
    likely = chance(shares, got, picks)
    if likely < rate:
        return *_fault(shares, got, picks, rate, names), likely
    empty = float((1 - shares[shares > 0].min()) ** picks)
    if empty > rate:
        return Cause.UNSURE, f"too few flows: an ideal hash leaves a member without any in {100 * empty:.2g} %", likely
    living = np.where(shares > 0, 1.0, 0.0) / (shares > 0).sum()
    if not np.allclose(living, shares) and chance(living, got, picks) >= rate:
        return Cause.UNSURE, "too few flows: chance explains this with equal weights, too", likely
    return Cause.CHANCE, f"an ideal hash is as far off in {percent(likely)} % of trials", likely


def _fault(shares: Floats, got: Floats, picks: int, rate: float, names: Names) -> tuple[Cause, str]:
    """The fault that explains counters which chance does not, and why."""
    empty = (shares > 0) & (got == 0)
    if empty.any() and (likely := _others(shares, got, picks, empty)) >= rate:
        cause = Cause.MISSING if empty.sum() == 1 else Cause.SEVERAL_MISSING
        nothing = f"{_listed(names[empty])} got nothing"
        return cause, f"{nothing}, and chance explains the others ({percent(likely)} % of trials)"
    living = np.where(shares > 0, 1.0, 0.0) / (shares > 0).sum()
    is_equal = np.allclose(living, shares)
    if not is_equal and (likely := chance(living, got, picks)) >= rate:
        return Cause.WEIGHTS, f"equal weights explain this ({percent(likely)} % of trials)"
    worst = np.zeros(shares.size, dtype=bool)
    worst[np.argmax(np.abs(got / got.sum() - shares) / np.sqrt(np.maximum(shares, 1e-300)))] = True
    if (shares > 0).sum() > 2 and (likely := _others(shares, got, picks, worst)) >= rate:
        rest = 1 - float(shares[worst][0])
        # Off beside the others: what it takes, they lack.
        off = 100 * (float(got[worst][0] / got[~worst].sum()) / (float(shares[worst][0]) / rest) - 1)
        why = f"{_listed(names[worst])} is off by {off:+.3g} % beside the others"
        return Cause.OFF, f"{why}, which chance explains ({percent(likely)} % of trials)"
    low, high = _values(shares, got)
    few = f"as far off as with {low:,.3g} to {high:,.3g} values"
    again = "measure again with other flows: weights are at fault if the same members are off"
    if is_equal:
        return Cause.FEW_VALUES, f"many members are off, {few}; {again}"
    if not _alike(shares, got, picks, rate):
        return Cause.FEW_VALUES, f"members of one weight differ, {few}; {again}"
    return Cause.WEIGHTS, f"the split is another one, or {few}; {again}"


def _others(shares: Floats, got: Floats, picks: int, left_out: npt.NDArray[np.bool_]) -> float:
    """Probability that chance puts the members that are not left out as far off, beside each other."""
    rest = np.where(left_out, 0.0, got)
    if rest.sum() == 0:
        return 0.0
    kept = ~left_out
    theirs = max(1, round(picks * rest.sum() / got.sum()))
    return chance(shares[kept] / shares[kept].sum(), got[kept], theirs)


def _alike(shares: Floats, got: Floats, picks: int, rate: float) -> bool:
    """Whether members of one weight differ by chance alone."""
    kinds = np.unique(shares[shares > 0])
    for share in kinds:
        same = np.isclose(shares, share)
        if same.sum() > 1 and _others(shares, got, picks, ~same) < rate / kinds.size:
            return False
    return True


def _values(shares: Floats, got: Floats) -> tuple[float, float]:
    """The 95 % interval of the number of values that puts all members as far off, by chi-square."""
    kept = shares > 0
    squares = float(((got[kept] / got.sum() - shares[kept]) ** 2 / shares[kept]).sum())
    freedom = int(kept.sum()) - 1
    low, high = chdtri(freedom, np.array([0.975, 0.025])) / max(squares, 1e-300)
    return max(1.0, float(low)), max(1.0, float(high))


def _listed(names: Names) -> str:
    """Members by their names."""
    shown = ", ".join(str(one) for one in names[:NAMES_SHOWN]) + (", ..." if names.size > NAMES_SHOWN else "")
    return f"member {shown}" if names.size == 1 else f"members {shown}"
