"""Target `frr`: a plan compared with what bgpd, zebra and the kernel have; vtysh alone changes FRR."""

from __future__ import annotations

from contextlib import AbstractContextManager

from anabranch.deploy.targets.frr import change, desired, observe, plan_file, verify
from anabranch.deploy.targets.frr.desired import Desired
from anabranch.deploy.targets.frr.observe import Observed
from anabranch.deploy.targets.frr.options import Options
from anabranch.deploy.targets.frr.plan_file import RouterPlan
from anabranch.deploy.targets.plan.verification import Measured
from anabranch.deploy.targets.protocol import Change, Descriptor, Target


class Frr(Target[RouterPlan, Observed, Desired]):
    """Target `frr`: the parts that `diff` and `verify` need (`protocol.Target`)."""

    descriptor = Descriptor("frr", "FRR")

    def read(self, plan: str, options: Options) -> RouterPlan:
        """A plan; the router is the one of the network namespace this runs in."""
        del options
        return plan_file.FORM.read(plan)

    def desired(self, plan: RouterPlan, observed: Observed) -> Desired:
        """Bandwidths and weights over the devices that are up."""
        return desired.desired(plan, observed)

    def observe(self, plan: RouterPlan, options: Options, *, writes: bool) -> AbstractContextManager[Observed]:
        """Paths of bgpd, routes of zebra and of the kernel."""
        del plan, writes
        return observe.observe(options.vty_socket)

    def change(self, plan: RouterPlan, observed: Observed, desired: Desired | None) -> Change:
        """Differences, which FRR alone can change."""
        del plan
        if desired is None:
            change.refuse()
        return change.change(observed, desired)

    def verify(
        self, plan: RouterPlan, observed: Observed, desired: Desired, seconds: float, connections: int | None
    ) -> tuple[list[Measured], list[str], float]:
        """Measures by look-ups and by the counters of devices."""
        del plan
        return verify.verify(observed, desired, seconds, connections)


TARGET = Frr()
