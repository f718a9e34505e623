"""Target `ovs`: a plan in a bridge of Open vSwitch, changed over OpenFlow in one atomic bundle."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ovs import change, desired, observe, others, plan_file, predict, restore, verify
from anabranch.deploy.targets.ovs.desired import Desired
from anabranch.deploy.targets.ovs.kept import FORM
from anabranch.deploy.targets.ovs.observe import Observed
from anabranch.deploy.targets.ovs.options import ExplainGroupOptions, ExplainOptions, ForecastOptions, Options
from anabranch.deploy.targets.ovs.plan_file import PlanFile
from anabranch.deploy.targets.plan.bound import BOUND_PCT
from anabranch.deploy.targets.plan.explanation import Explanation
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Forecast
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.deploy.targets.protocol import Change, Descriptor, Target

if TYPE_CHECKING:
    from anabranch.deploy.targets.ovs.prediction import Predicted


class OpenVSwitch(Target[PlanFile, Observed, Desired]):
    """Target `ovs`: bridges of Open vSwitch (`protocol.Target`)."""

    descriptor = Descriptor(
        "ovs",
        "Open vSwitch",
        lacks={
            "follow": "buckets watch their ports, so that the switch itself passes over a dead path and takes it back; "
            "`anabranch control` also follows what only other switches see",
        },
    )

    def forecast(self, group: Group, options: ForecastOptions, bound_pct: float | None, *, strict: bool) -> Forecast:
        """Recipes of select groups, and of rules by slot."""
        return predict.forecast(group, options, BOUND_PCT if bound_pct is None else bound_pct, strict=strict)

    def explain_group(
        self, group: Group, options: ExplainGroupOptions, tuples: npt.NDArray[np.void]
    ) -> list[Explanation]:
        """Chooses by the selection method."""
        return predict.explain_group(group, options, tuples)

    def explain(self, plan: str, options: ExplainOptions, tuples: npt.NDArray[np.void]) -> list[Predicted]:
        """Follows the rules and groups of a bridge, or of a fresh one."""
        return predict.explain(plan, options, tuples)

    def read(self, plan: str, options: Options) -> PlanFile:
        """A plan, with the file of splits that the command line names."""
        return plan_file.read_with(plan, options)

    def desired(self, plan: PlanFile, observed: Observed) -> Desired:
        """Rules and groups, with notes on what others' rules take first."""
        splits = state_file.read(plan.state, FORM) if plan.state else {}
        aimed = desired.desired(plan, observed.ports, observed.own, observed.datapath_id, splits)
        return replace(aimed, warnings=(*aimed.warnings, *others.warnings(aimed, observed)))

    def observe(self, plan: PlanFile, options: Options, *, writes: bool) -> AbstractContextManager[Observed]:
        """All that the bridge says."""
        return observe.observe(plan, options, writes=writes)

    def change(self, plan: PlanFile, observed: Observed, desired: Desired | None) -> Change:
        """Modifications of one bundle."""
        return change.change(plan, observed, None if desired is None else desired.tables)

    def scope(self, plan: PlanFile, observed: Observed) -> str:
        """The owner's part of the bridge."""
        return restore.scope(plan, observed)

    def restore(self, observed: Observed) -> Desired:
        """All of it as it is."""
        return restore.restore(observed)

    def verify(
        self, plan: PlanFile, observed: Observed, desired: Desired, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """Measures by the counters of buckets."""
        return verify.verify(plan, observed, desired, seconds, connections)


TARGET = OpenVSwitch()
