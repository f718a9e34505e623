"""The split that each target will really give, before anything is installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from anabranch._core import VERSION
from anabranch.errors import AnabranchError
from anabranch.hints import choose
from anabranch.targets.ebpf import recipes as ebpf
from anabranch.targets.linux import recipes as linux
from anabranch.targets.ovs import recipes as open_vswitch
from anabranch.targets.ovs.recipes import Switch
from anabranch.targets.plan.group import Group
from anabranch.targets.plan.recipe import Target
from anabranch.targets.table import recipes as table

TARGETS = ("ovs", "linux", "ebpf", "table")
BOUND_PCT = 1.0
"""What counts as near enough where no bound is given: the noise of some 30,000 connections over four paths."""


@dataclass(frozen=True)
class Plan:
    """What a group comes to on each target."""

    group: Group
    targets: list[Target]
    bound_pct: float

    @property
    def within_bound(self) -> bool:
        """Whether every target has a recipe with an error of at most the bound."""
        return all(target.recommended(self.bound_pct).mape_pct <= self.bound_pct for target in self.targets)

    def as_json(self, command: list[str]) -> str:
        """Everything as JSON text."""
        found: dict[str, Any] = {
            "command": command,
            "made_by": f"anabranch {VERSION}",
            "group": asdict(self.group),
            "wanted": [float(share) for share in self.group.asked],
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
        return json.dumps(found, indent=2, allow_nan=False) + "\n"


def plan(group: Group, targets: Sequence[str], switch: Switch, bound_pct: float | None = None) -> Plan:
    """Plans `group` for `targets`; none means all, and then a weight over one target's limit stops no other.

    Raises:
        AnabranchError: an unknown target, or a weight over the limit of a target that was asked for.

    """
    bound = BOUND_PCT if bound_pct is None else bound_pct
    found = []
    for name in dict.fromkeys(targets) or TARGETS:
        choose(name, TARGETS, "target")
        if name == "ovs":
            found.append(open_vswitch.target(group, switch, bound, bool(targets)))
        elif name == "linux":
            found.append(linux.target(group, bound, bool(targets)))
        elif name == "ebpf":
            found.append(ebpf.target(group, bool(targets)))
        else:
            found.append(table.target(group, bound_pct is not None))
    return Plan(group, [target for target in found if target.recipes], bound)


def parse_bound(text: str) -> float:
    """`1%` or `0.5` as percent.

    Raises:
        AnabranchError: text that is no percentage above zero.

    """
    try:
        bound = float(text.strip().removesuffix("%"))
    except ValueError:
        bound = 0.0
    if not 0 < bound < float("inf"):
        raise AnabranchError(f"error: {text}: not a percentage above 0; write it as 1% or 0.05%")
    return bound
