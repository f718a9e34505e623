"""What a kernel makes of a connection: the group that takes it, and the fields that are hashed.

The path is not known, for the hash has a key that the kernel keeps to itself. What is known without it: packets whose
hashed fields are the same take one path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.linux import hash_policy, plan_file
from anabranch.deploy.targets.linux.hash_policy import HashPolicy
from anabranch.deploy.targets.linux.headers import hashed, is_no_ip
from anabranch.deploy.targets.linux.plan_file import LinuxPlan, WeightedHops
from anabranch.deploy.targets.plan.explanation import Explanation, described
from anabranch.deploy.targets.plan.longest_prefix import takers

KEY = "without the key of the kernel's hash"
RULES = "without the rules of routing, which choose the table"
NO_IP = "no IP: the kernel drops it unless a VLAN's device or a label's route takes it"


@dataclass(frozen=True)
class Predicted:
    """What is known of one connection."""

    connection: str
    steps: list[tuple[str, str]]
    group: str | None
    """The group that takes it; `None` where none of the plan does, or it is not known which."""
    hashed: str | None
    """Hashed fields, where a capture tells all of them: packets for which they are the same take one path."""
    outcome: str
    path: int | None = None
    known: bool = False

    @property
    def last(self) -> tuple[str, str]:
        """What becomes of it, for people."""
        return "path", self.outcome


def explain(plan: str, tuples: npt.NDArray[np.void]) -> list[Predicted]:
    """The group and the hashed fields of each connection, by the settings of the network namespace this runs in."""
    planned = plan_file.FORM.read(plan)
    policies = {version: hash_policy.read(version) or HashPolicy(version) for version in (4, 6)}
    return [_one(planned, tuples[row : row + 1], policies) for row in range(len(tuples))]


def explain_group(tuples: npt.NDArray[np.void]) -> list[Explanation]:
    """The hashed fields of each connection, by the setting that `anabranch plan` writes."""
    explanations = []
    for row in range(len(tuples)):
        one = tuples[row : row + 1]
        if is_no_ip(one)[0]:
            steps, unknown = [("read as", NO_IP)], "because the kernel sees no IP behind these headers"
        else:
            steps, unknown = [_hashed(one, HashPolicy(int(one[0]["version"])))[0]], KEY
        explanations.append(Explanation(described(one[0]), steps, None, unknown=unknown))
    return explanations


def _one(plan: LinuxPlan, one: npt.NDArray[np.void], policies: dict[int, HashPolicy]) -> Predicted:
    name = described(one[0])
    if is_no_ip(one)[0]:
        return Predicted(name, [("read as", NO_IP)], None, None, "others decide", known=True)
    groups = takers(plan.groups, one[0])
    if not groups:
        return Predicted(name, [("route", "none of this plan")], None, None, "others decide", known=True)
    if len({group.table for group in groups}) > 1:
        tables = ", ".join(str(group.table) for group in groups)
        return Predicted(name, [("route", f"tables {tables}")], None, None, f"not known {RULES}")
    taking: WeightedHops = min(groups, key=lambda group: group.metric)
    step, fields = _hashed(one, policies[int(one[0]["version"])])
    steps = [("route", f"group {taking.name}, {len(taking.hops)} paths"), step]
    return Predicted(name, steps, taking.name, fields, f"not known {KEY}: one of {taking.name}'s {len(taking.hops)}")


def _hashed(one: npt.NDArray[np.void], policy: HashPolicy) -> tuple[tuple[str, str], str | None]:
    """The step, and the fields if a capture has all of them."""
    fields, is_whole = hashed(one, policy)
    text = ", ".join(fields)
    return ("hashed", f"{text} ({policy.name}={policy.number})"), text if is_whole else None
