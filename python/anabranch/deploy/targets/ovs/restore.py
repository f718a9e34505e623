"""The desired state that brings back an observed one."""

from __future__ import annotations

from anabranch.deploy.targets.ovs.desired import Desired
from anabranch.deploy.targets.ovs.observe import Observed
from anabranch.deploy.targets.ovs.plan_file import PlanFile


def scope(plan: PlanFile, observed: Observed) -> str:
    """The owner's part of the bridge, in words."""
    return f"rules of owner {plan.ownership.owner} in datapath {observed.datapath_id:016x}"


def restore(observed: Observed) -> Desired:
    """The owner's rules, groups and meters as they are."""
    return Desired((), observed.own)
