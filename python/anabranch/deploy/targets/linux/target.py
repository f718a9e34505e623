"""Target `linux`: a plan in the kernel of the network namespace this runs in, as nexthop groups and routes to them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink import gateways, kernel
from anabranch.deploy.service.needs import NETLINK
from anabranch.deploy.targets.linux import (
    buckets,
    change,
    desired,
    explain,
    follow,
    observe,
    plan_file,
    precedence,
    predict,
    restore,
    verify,
)
from anabranch.deploy.targets.linux.desired import Desired
from anabranch.deploy.targets.linux.explain import Predicted
from anabranch.deploy.targets.linux.observe import LinuxState, Observed
from anabranch.deploy.targets.linux.plan_file import LinuxPlan
from anabranch.deploy.targets.plan.bound import BOUND_PCT
from anabranch.deploy.targets.plan.explanation import Explanation
from anabranch.deploy.targets.plan.group import Group
from anabranch.deploy.targets.plan.recipe import Forecast
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.deploy.targets.protocol import Change, Descriptor, Target


class Linux(Target[LinuxPlan, Observed, Desired]):
    """Target `linux`: nexthop groups and routes of a kernel (`protocol.Target`)."""

    descriptor = Descriptor(
        "linux",
        "a Linux kernel's routes",
        lacks={
            "lab": "labs have bridges and datapaths for switches; take another kind",
        },
        follow=follow.follow,
        needs=replace(NETLINK, realtime=True),
    )

    def forecast(self, group: Group, options: None, bound_pct: float | None, *, strict: bool) -> Forecast:
        """Hash-threshold and resilient groups."""
        del options
        return predict.forecast(group, BOUND_PCT if bound_pct is None else bound_pct, strict)

    def explain_group(self, group: Group, options: None, tuples: npt.NDArray[np.void]) -> list[Explanation]:
        """What is hashed of each connection."""
        del group, options
        return explain.explain_group(tuples)

    def explain(self, plan: str, options: None, tuples: npt.NDArray[np.void]) -> list[Predicted]:
        """The group of each connection, and what is hashed of it."""
        del options
        return explain.explain(plan, tuples)

    def read(self, plan: str, options: None) -> LinuxPlan:
        """A plan; the kernel is always the one of the network namespace this runs in."""
        del options
        return plan_file.FORM.read(plan)

    def desired(self, plan: LinuxPlan, observed: Observed) -> Desired:
        """Nexthops, groups and routes, with notes on what stands beside them and what the kernel hashes."""
        hops = [hop for planned in plan.groups for hop in planned.hops]
        silent = gateways.silent(observed.connection, hops, observed.devices)
        weight_max = kernel.weight_max(observed.connection)
        state = desired.desired(plan, observed.state, observed.devices, weight_max, silent)
        beside = precedence.beside(observed, state)
        groups = tuple(replace(one, bypassed=by.bypassed) for one, by in zip(state.groups, beside, strict=True))
        notes = [note for by in beside for note in by.notes]
        return replace(state, groups=groups, warnings=(*state.warnings, *notes, *desired.hash_notes(groups)))

    def observe(self, plan: LinuxPlan, options: None, *, writes: bool) -> AbstractContextManager[Observed]:
        """The owner's nexthops, groups and routes."""
        del options, writes
        return observe.observe(plan.owner)

    def change(self, plan: LinuxPlan, observed: Observed, desired: Desired | None) -> Change:
        """Steps of rtnetlink, taken back if one is refused."""
        del plan
        if desired is None:
            return change.change(observed, LinuxState())
        difference = change.change(observed, desired.state)
        return replace(difference, unfinished=lambda: buckets.waiting(observed, desired))

    def scope(self, plan: LinuxPlan, observed: Observed) -> str:
        """The owner's part of the kernel."""
        del plan
        return restore.scope(observed)

    def restore(self, observed: Observed) -> Desired:
        """All of it as it is."""
        return restore.restore(observed)

    def verify(
        self, plan: LinuxPlan, observed: Observed, desired: Desired, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """Measures by look-ups, whatever the time."""
        del plan, seconds
        return verify.verify(observed, desired, connections)


TARGET = Linux()
