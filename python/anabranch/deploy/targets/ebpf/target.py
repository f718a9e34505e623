"""Target `ebpf`: a plan as a program of the kernel's datapath, on devices of the network namespace this runs in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch.deploy.service.needs import Needs
from anabranch.deploy.targets.ebpf import (
    change,
    desired,
    explain,
    follow,
    leftovers,
    observe,
    plan_file,
    predict,
    restore,
    unrouted,
    verify,
)
from anabranch.deploy.targets.ebpf.desired import Desired
from anabranch.deploy.targets.ebpf.explain import Predicted
from anabranch.deploy.targets.ebpf.folder import NEEDS
from anabranch.deploy.targets.ebpf.observe import Observed
from anabranch.deploy.targets.ebpf.options import Options
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.plan.explanation import Explanation
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Forecast
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.deploy.targets.protocol import Change, Descriptor, Target


class Ebpf(Target[EbpfPlan, Observed, Desired]):
    """Target `ebpf`: datapaths of a Linux kernel (`protocol.Target`)."""

    descriptor = Descriptor(
        "ebpf",
        "the kernel's datapath",
        follow=follow.follow,
        needs=replace(NEEDS, realtime=True),
        stale=leftovers.remove_stale,
    )

    def needs(self, options: Options) -> Needs:
        """Those of datapaths, and the folder of the file that keeps tables."""
        folder = Needs(writes=frozenset({str(Path(options.state).parent)})) if options.state else Needs()
        return self.descriptor.needs | folder

    def forecast(self, group: Group, options: None, bound_pct: float | None, *, strict: bool) -> Forecast:
        """Programs of load balancers, whose shares are their own."""
        del options, bound_pct
        return predict.forecast(group, strict)

    def explain_group(self, group: Group, options: None, tuples: npt.NDArray[np.void]) -> list[Explanation]:
        """The path of each connection under the scheme `weighted`."""
        del options
        return explain.explain_group(group, tuples)

    def explain(self, plan: str, options: None, tuples: npt.NDArray[np.void]) -> list[Predicted]:
        """The path of each connection once the plan is applied."""
        del options
        return explain.explain(plan, tuples)

    def read(self, plan: str, options: Options) -> EbpfPlan:
        """A plan, on the devices and at the hook that the command line names before it."""
        return plan_file.read_with(plan, options)

    def desired(self, plan: EbpfPlan, observed: Observed) -> Desired:
        """One program with its groups, on devices."""
        desired.refuse_errors(plan)
        desired.refuse_absent(plan, observed.devices)
        desired.refuse_unforwarded(plan, observed.devices)
        aimed = desired.desired(plan, observed.devices, observed.state, observed.silent)
        return replace(aimed, warnings=(*aimed.warnings, *unrouted.notes(plan)))

    def observe(self, plan: EbpfPlan, options: Options, *, writes: bool) -> AbstractContextManager[Observed]:
        """The datapath of the plan, which nobody else changes meanwhile."""
        del options
        return observe.observe(plan, writes=writes)

    def change(self, plan: EbpfPlan, observed: Observed, desired: Desired | None) -> Change:
        """Groups and devices changed in place, or the whole datapath replaced."""
        return change.change(plan, observed, desired)

    def scope(self, plan: EbpfPlan, observed: Observed) -> str:
        """The datapath of the plan."""
        del plan
        return restore.scope(observed)

    def restore(self, observed: Observed) -> Desired | None:
        """All of it as it is."""
        return restore.restore(observed)

    def verify(
        self, plan: EbpfPlan, observed: Observed, desired: Desired, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """Measures by the counters of members."""
        return verify.verify(plan, observed, desired, seconds, connections)


TARGET = Ebpf()
