"""The split that each target will really give, before anything is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from anabranch.deploy.targets import registry
from anabranch.deploy.targets.plan.bound import BOUND_PCT
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.options import FORECAST
from anabranch.deploy.targets.plan.recipe import Forecast


@dataclass(frozen=True)
class Forecasts:
    """The forecasts of a group, one per target."""

    group: Group
    targets: list[Forecast]
    bound_pct: float

    @property
    def within_bound(self) -> bool:
        """Whether every target has a recipe with an error of at most the bound."""
        return all(target.recommended(self.bound_pct).mape_pct <= self.bound_pct for target in self.targets)

    @property
    def record(self) -> dict[str, Any]:
        """Group, bound and every recipe as plain data."""
        return {
            "group": asdict(self.group),
            "asked": [float(share) for share in self.group.asked],
            "bound_pct": self.bound_pct,
            "targets": [
                {
                    "name": target.name,
                    "title": target.title,
                    "recommended": target.recommended(self.bound_pct).name,
                    "recipes": [recipe.as_dict() for recipe in target.recipes],
                    "refused": [{"name": name, "reason": reason} for name, reason in target.refused],
                    "traps": target.traps,
                }
                for target in self.targets
            ],
        }


def plan(
    group: Group, names: Sequence[str], options: Mapping[str, Any] | None = None, bound_pct: float | None = None
) -> Forecasts:
    """Plans `group` for targets; no name means all, and then a weight over one target's limit stops no other.

    Args:
        group: weighted paths.
        names: of targets.
        options: of each target for `plan`, by its name; its defaults where there are none.
        bound_pct: largest error, or None where nobody asked.

    Raises:
        AnabranchError: an unknown target, or a weight over the limit of a target that was asked for.

    """
    forecasts = []
    for name in dict.fromkeys(names) or registry.TARGETS:
        one, kind = registry.target(name), registry.option_class(name, FORECAST)
        given = (options or {}).get(name) or (kind() if kind is not None else None)
        forecasts.append(one.forecast(group, given, bound_pct, strict=bool(names)))
    bound = BOUND_PCT if bound_pct is None else bound_pct
    return Forecasts(group, [target for target in forecasts if target.recipes], bound)
