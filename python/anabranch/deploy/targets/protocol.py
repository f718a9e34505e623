"""The protocol of targets: nine parts, which the verbs, the controller and the lab are written against.

Six are methods of `Target`; `follow` is a function of its descriptor. `session`, a folder of the target, is what the
controller takes (`control.switch_kind`); `lab` stands in `lab/switches/NAME` (`lab.fabric.switching`).
"""

# ruff: noqa: ARG002 (what is lacking takes what others take)
from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar

from anabranch.deploy.service.needs import Needs
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.console import Console

    from anabranch.deploy.targets.plan.explanation import Explanation, Predicted
    from anabranch.deploy.targets.plan.group import Group
    from anabranch.deploy.targets.plan.recipe import Forecast
    from anabranch.deploy.targets.plan.verification import Measured

PARTS = ("predict", "desired", "observe", "change", "restore", "verify", "follow", "session", "lab")
"""Parts that a target may lack."""


class Desired(Protocol):
    """The state of a target that a plan asks for."""

    @property
    def warnings(self) -> Sequence[str]:
        """Notes for the operator about a plan that can be applied."""
        ...


@dataclass(frozen=True)
class Unfinished:
    """What a target itself has yet to do until a plan is in force."""

    note: str
    """What, and until when, for people."""
    within_s: float | None
    """Time by the end of which it is done, in seconds from now; None where nothing sets a limit."""


@dataclass(frozen=True)
class Change:
    """The fewest steps from what is observed to what is desired; false if there are none."""

    lines: list[str]
    """Lines for people: `+` new, `-` gone, `~-` was and `~+` is now."""
    count: int
    """Number of changes."""
    remains: str
    """State of the plan's owner after the change, in a few words."""
    commit: Callable[[], None]
    """Makes all of the changes or none; raises an AnabranchError where the target refuses, and all is as before."""
    unfinished: Callable[[], list[Unfinished]] = list
    """What the target itself has yet to do, as it is at the call: after the commit, or before it."""

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True)
class Descriptor:
    """The description of a target."""

    name: str
    """The word after `--target`."""
    title: str
    """Its name in sentences."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Parts that the target does not have, each with the reason and a hint."""
    follow: Callable[[str, Any, Console], None] | None = None
    """Keeps a plan in force as links come and go until it is interrupted, where nobody else does."""
    needs: Needs = field(default_factory=Needs)
    """What `follow` takes of the machine, beside reading the plan."""
    stale: Callable[[bool], tuple[list[str], list[str]]] | None = None
    """Removes what no plan can remove any more; returns it as lines, and notes. The argument: whether it only looks."""


PlanT = TypeVar("PlanT")
ObservedT = TypeVar("ObservedT")
DesiredT = TypeVar("DesiredT", bound=Desired)


class Target(ABC, Generic[PlanT, ObservedT, DesiredT]):
    """One target. A part that it lacks raises an error that says why."""

    descriptor: ClassVar[Descriptor]

    @property
    def name(self) -> str:
        """The word after `--target`."""
        return self.descriptor.name

    def needs(self, options: Any) -> Needs:
        """What `apply --follow` with the target's own options takes of the machine, beside reading the plan."""
        del options
        return self.descriptor.needs

    def forecast(self, group: Group, options: Any, bound_pct: float | None, *, strict: bool) -> Forecast:
        """Every recipe to install a group on this target, and the split of each (`predict.py`).

        Args:
            group: weighted paths.
            options: the target's own for `anabranch plan`.
            bound_pct: largest error asked for, or None where nobody asked.
            strict: weights that the target cannot take are an error instead of a refusal.

        """
        self.refuse("predict")

    def explain_group(self, group: Group, options: Any, tuples: npt.NDArray[np.void]) -> list[Explanation]:
        """The path of each connection in a group with these weights (`predict.py`)."""
        self.refuse("explain")

    def explain(self, plan: str, options: Any, tuples: npt.NDArray[np.void]) -> Sequence[Predicted]:
        """The path of each connection once a plan file is applied (`predict.py`)."""
        self.refuse("explain")

    def read(self, plan: str, options: Any) -> PlanT:
        """A plan file with the options of the command line in force (`desired.py`).

        Raises:
            AnabranchError: the file, a key or a value is not as it must be; it names them, with a hint.

        """
        self.refuse("desired")

    def desired(self, plan: PlanT, observed: ObservedT) -> DesiredT:
        """The desired state for a plan (`desired.py`).

        Raises:
            AnabranchError: the plan cannot stand there.

        """
        self.refuse("desired")

    def observe(self, plan: PlanT, options: Any, *, writes: bool) -> AbstractContextManager[ObservedT]:
        """The observed state, held still for a change if one is meant (`observe.py`).

        Raises:
            AnabranchError: the target does not answer.

        """
        self.refuse("observe")

    def change(self, plan: PlanT, observed: ObservedT, desired: DesiredT | None) -> Change:
        """The fewest changes to what is desired, or to nothing of the plan's owner (`change.py`).

        Raises:
            AnabranchError: the change would harm what belongs to somebody else.

        """
        self.refuse("change")

    def scope(self, plan: PlanT, observed: ObservedT) -> str:
        """The part of the target that is the plan's, in words: the same for two plans of one owner (`restore.py`)."""
        self.refuse("restore")

    def restore(self, observed: ObservedT) -> DesiredT | None:
        """The desired state that brings back an observed one, as a value that can be pickled (`restore.py`).

        None where nothing of the plan's is there.
        """
        self.refuse("restore")

    def verify(
        self, plan: PlanT, observed: ObservedT, desired: DesiredT, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """The split of each group as measured, with notes and the time it took in seconds (`verify.py`)."""
        self.refuse("verify")

    def refuse(self, part: str) -> NoReturn:
        """Raises the error for a part that the target lacks."""
        reason = self.descriptor.lacks.get(part, "not written; take another target")
        raise AnabranchError(f"target {self.name}: {part}: {reason}")
