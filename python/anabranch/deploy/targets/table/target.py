"""Target `table`: a plan as tables of entries in a JSON file, for switches and hosts that read one."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.explanation import Explanation
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Forecast
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.deploy.targets.protocol import Change, Descriptor, Target
from anabranch.deploy.targets.table import change, desired, observe, plan_file, predict, recipes, restore, verify
from anabranch.deploy.targets.table.desired import Desired
from anabranch.deploy.targets.table.observe import Observed, TableState
from anabranch.deploy.targets.table.options import Options
from anabranch.deploy.targets.table.plan_file import TablePlan


class Tables(Target[TablePlan, Observed, Desired]):
    """Target `table`: tables of slots as JSON files (`protocol.Target`)."""

    descriptor = Descriptor(
        "table",
        "a table in a file",
        lacks={
            "follow": "a file has no links to follow; `anabranch control` keeps tables of a fabric at what their other "
            "ends say",
            "lab": "a table carries no traffic, so no lab has it for a switch; take another target",
        },
    )

    def forecast(self, group: Group, options: None, bound_pct: float | None, *, strict: bool) -> Forecast:
        """Tables of several rules and sizes."""
        del options, strict
        return recipes.forecast(group, bound_pct is not None)

    def explain_group(self, group: Group, options: None, tuples: npt.NDArray[np.void]) -> list[Explanation]:
        """Chooses by the first table of the forecast."""
        del options
        return predict.explain_group(group, tuples)

    def explain(self, plan: str, options: Options, tuples: npt.NDArray[np.void]) -> list[predict.Predicted]:
        """Chooses by the plan's tables."""
        return predict.explain(plan_file.read(plan, options), tuples)

    def read(self, plan: str, options: Options) -> TablePlan:
        """A plan, in the folder that the command line names before it."""
        return plan_file.read(plan, options)

    def desired(self, plan: TablePlan, observed: Observed) -> Desired:
        """One table per group."""
        return desired.desired(plan, observed)

    def observe(self, plan: TablePlan, options: Options, *, writes: bool) -> AbstractContextManager[Observed]:
        """The tables of the folder."""
        del options, writes
        return observe.observe(plan)

    def change(self, plan: TablePlan, observed: Observed, desired: Desired | None) -> Change:
        """One write of the owner's file."""
        del plan
        return change.change(observed, TableState() if desired is None else desired.state)

    def scope(self, plan: TablePlan, observed: Observed) -> str:
        """The owner's file."""
        del plan
        return restore.scope(observed)

    def restore(self, observed: Observed) -> Desired:
        """All of it as it is."""
        return restore.restore(observed)

    def verify(
        self, plan: TablePlan, observed: Observed, desired: Desired, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """Compares, and says that nothing was measured."""
        del plan, observed, desired, seconds, connections
        return verify.verify()


TARGET = Tables()
