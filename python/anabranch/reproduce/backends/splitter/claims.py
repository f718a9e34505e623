"""What was published: `expected.toml`, one table per claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.reproduce.splitting.study import load_toml

FILE = "expected.toml"
COMPARISONS = ("band", "within", "order", "at-least", "none")
DIRECTIONS = ("above", "below", "differs", "agrees", "decent", "none")


@dataclass(frozen=True)
class Alternative:
    """Another reading that might have given the published value."""

    text: str
    measure: str
    weights: tuple[int, int] | None = None
    """Other limits of the random weights."""


@dataclass(frozen=True)
class Claim:
    """One published value, and how to judge it.

    Ours is the mean of `measure`, over `per` if that is given. `compare` says when the two agree: `band` if the
    published value lies in the 95 % band of theory, `within` a relative `tolerance` of ours, `order` if both are on
    the same side of 1 (ranking only), `at-least` if it is no less than the bound, `none` if they cannot be compared.
    """

    id: str
    what: str
    where: str
    value: float
    decimals: int
    unit: str
    compare: str
    measure: tuple[str, ...] = ()
    per: str | None = None
    decent: tuple[str, ...] = ()
    """As `measure`, with a decent implementation in place of the published one."""
    tolerance: float = 0.0
    printed: tuple[float, ...] = ()
    """Numerator and denominator, as printed elsewhere in the paper, that the value is the ratio of."""
    jensen: float | None = None
    """Scoring's published error over two paths, which bounds random's from below."""
    alternatives: tuple[Alternative, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    """By outcome, one of `DIRECTIONS`; braces are filled in with numbers measured now."""
    fields: dict[str, str] = field(default_factory=dict)
    """Measures that the reasons name."""

    @property
    def slack(self) -> float:
        """Half a unit of the last printed digit."""
        return float(0.5 * 10.0**-self.decimals)


def load_claims(folder: Path) -> list[Claim]:
    """Reads the claims of a study.

    Raises:
        AnabranchError: a key that is missing, unknown, or has no such value.

    """
    path = folder / FILE
    return [_named(path, number, row) for number, row in enumerate(load_toml(path).get("claim", []), start=1)]


def _named(path: Path, number: int, row: dict[str, Any]) -> Claim:
    """A claim; what is wrong with it names the file and the claim."""
    try:
        return _claim(dict(row))
    except KeyError as error:
        problem = f"key {error} is missing"
    except (TypeError, ValueError) as error:
        problem = str(error)
    raise AnabranchError(f"{path}: claim {number} (id {row.get('id', '?')}): {problem}")


def _claim(row: dict[str, Any]) -> Claim:
    value = row.pop("value")
    if isinstance(value, str):
        raise ValueError(f"value: `{value}` is text; give a number as printed")
    if row["compare"] not in COMPARISONS:
        raise ValueError(f"compare: `{row['compare']}` is none of {', '.join(COMPARISONS)}")
    reasons = row.pop("reasons", {})
    if unknown := set(reasons) - set(DIRECTIONS):
        raise ValueError(f"reasons: {', '.join(sorted(unknown))}: none of {', '.join(DIRECTIONS)}")
    alternatives = tuple(
        Alternative(a["text"], a["measure"], tuple(a["weights"]) if "weights" in a else None)
        for a in row.pop("alternatives", [])
    )
    _, _, digits = repr(value).partition(".") if isinstance(value, float) else ("", "", "")
    lists: dict[str, Any] = {key: tuple(row.pop(key)) for key in ("measure", "decent", "printed") if key in row}
    return Claim(value=float(value), decimals=len(digits), alternatives=alternatives, reasons=reasons, **lists, **row)
