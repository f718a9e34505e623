"""What every target of `apply`, `diff`, `verify` and `remove` answers, and how one is found by its name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Protocol, cast

from anabranch.hints import choose
from anabranch.targets.plan.options import Place
from anabranch.targets.plan.verification import Verified

TARGETS = {
    "ovs": "anabranch.targets.ovs.target",
    "linux": "anabranch.targets.linux.target",
    "ebpf": "anabranch.targets.ebpf.target",
}


@dataclass(frozen=True)
class Outcome:
    """What was, or would be, changed."""

    lines: list[str]
    """The changes for people; none if all is as it should be."""
    changes: int
    """How many they are."""
    warnings: list[str]
    summary: str
    """What is ours when all is done, in a few words."""


class Target(Protocol):
    """A module with these functions. All raise an AnabranchError that names what is wrong and the mend."""

    def apply(self, plan: str, place: Place, *, dry_run: bool) -> Outcome:
        """Makes the target hold what the plan says, all or nothing; with `dry_run`, only says what would change."""
        ...

    def remove(self, plan: str, place: Place, *, dry_run: bool) -> Outcome:
        """Takes away all that is the plan's owner's, and nothing else."""
        ...

    def verify(self, plan: str, place: Place, *, seconds: float, connections: int | None) -> Verified:
        """Compares with what is installed, then measures the split for so long."""
        ...


def target(name: str) -> Target:
    """The target of a name.

    Raises:
        AnabranchError: an unknown name.

    """
    return cast("Target", importlib.import_module(TARGETS[choose(name, list(TARGETS), "target")]))
