"""Every shortest path alike (ECMP, RFC 2992)."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import Policy, SwitchPlan, View
from anabranch.deploy.control.rules import Rules, Weigher


class Weighed(Policy):
    """Weights from the links that are up and, `by_capacity`, from their rates."""

    def __init__(self, file: FabricFile, *, by_capacity: bool) -> None:
        self._weigher = Weigher(file.topology, by_capacity=by_capacity)
        self._rules = Rules(file)

    def plan(self, view: View) -> Mapping[str, SwitchPlan]:
        """Plans equal weights over the next hops of each switch (`policy.Policy`)."""
        return self._rules.plan(view, self._weigher.weigh(view.up, view.rate_bps))


def build(file: FabricFile) -> Weighed:
    """The policy; it has no settings."""
    file.policy_settings().end()
    return Weighed(file, by_capacity=False)
