"""Datapaths in the kernel that do what a scenario's `[routing]` says."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch import _core
from anabranch.control.policy import View
from anabranch.control.rules import Rules
from anabranch.errors import AnabranchError
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.forwarding import Switches, Wanted, said_of
from anabranch.lab.run.transport import time_ns
from anabranch.load_balancers import schemes
from anabranch.netlink.namespace import inside
from anabranch.targets.ebpf.lab import kernel_switches
from anabranch.targets.ebpf.scheme import why_not
from anabranch.targets.ebpf.session_groups import without
from anabranch.targets.ebpf.session_keys import DatapathKeys

FLOWS = {
    "uniform": "slots",
    "min-move": "slots",
    "wcmp": "slots",
    "valo": "score",
    "scoring": "score",
    "intervals": "score",
}
"""The program that keeps flows together, by the scenario's `table`. `intervals` has gravity's law with another hash;
slots are 4,096, whatever `entries` says."""
PLAIN = "scoring"
"""The table whose weights are factors of scores as they are."""
SLOTTED = ("uniform", "min-move", "wcmp")
ABLE = (
    "ecmp, random, weighted, weighted-random, wcmp, scoring, valo, letflow, presto, weighted-presto, spray, "
    "weighted-spray, dbb"
)
REASONS = {
    "flowcell": "flowcells in random order have no program, presto has them in turn",
    "wino": "it sprays by marks of hosts: `anabranch lab reproduce wino`",
}
CELL = "65536 B"
"""Cell of presto's program: what the kernel's own segmentation offload makes at most."""


@dataclass(frozen=True)
class Forwarding:
    """How datapaths split."""

    scheme: str
    """One of `_core.KERNEL_SCHEMES`."""
    weights: Wanted
    pause_ns: float = 0.0
    """In the scenario's time."""
    plain: bool = False
    """Whether weights are factors of scores as they are."""

    def __str__(self) -> str:
        pause = f", pause {self.pause_ns / 1e3:g} us" if self.pause_ns else ""
        plain = " as factors" if self.plain else ""
        return f"{self.scheme}, {said_of(self.weights)}{plain}{pause}"


def choose(routing: Mapping[str, Any], recipe: str = "") -> Forwarding:
    """Chooses how datapaths split for a resolved `[routing]`.

    Raises:
        AnabranchError: no program does that; it says which there are.

    """
    if recipe:
        raise AnabranchError(f"--recipe {recipe}: recipes are of Open vSwitch's groups; leave it out")
    name = routing.get("balance", routing.get("table"))
    weights: Wanted = "equal" if routing["table"] == "uniform" else routing["weights"]
    if "scheme" in routing:
        return _scheme(name, routing["scheme"])
    table, granularity = routing["table"], routing["granularity"]
    if name != "ideal" and granularity == "flow" and table in FLOWS:
        return Forwarding(FLOWS[table], weights, plain=table == PLAIN)
    if granularity == "flowlet" and table in SLOTTED:
        return Forwarding("flowlet", weights, time_ns(routing, "gap"))
    if granularity == "packet" and table in SLOTTED:
        return Forwarding("spray", weights)
    if granularity == "packet" and table == "turns" and routing["order"] == "smooth":
        return Forwarding("cycle", weights)
    return _refuse(name)


def _scheme(name: str, keys: Mapping[str, Any]) -> Forwarding:
    if name in ("presto", "weighted-presto"):
        if keys["cell"] != CELL:
            raise AnabranchError(f"routing.scheme.cell: {keys['cell']}: the kernel's program has {CELL}; take that")
        return Forwarding("presto", "capacity" if name == "weighted-presto" else "equal")
    if name == "dbb":
        # Of one stage of choice, as in a leaf-spine, its dispatching cycle is a weighted round robin by capacity.
        if keys["counter"] == "shared":
            return Forwarding("cycle", "capacity")
        return Forwarding("flow_cycle", "capacity", time_ns(keys, "idle"))
    return _refuse(name)


def _refuse(name: str) -> Forwarding:
    known = next((why_not(balancer) for balancer in schemes() if balancer.name == name), "")
    reason = REASONS.get(name) or known or "no program of the kernel's datapaths does it"
    raise AnabranchError(f"routing.balance: {name}: {reason}; a lab with --switch ebpf can do {ABLE}")


class DatapathSwitches(Switches):
    """See `forwarding.Switches`."""

    def __init__(self, lab: Lab, forwarding: Forwarding) -> None:
        super().__init__(lab, forwarding.weights, str(forwarding))
        keys = DatapathKeys(forwarding.scheme, round(forwarding.pause_ns / lab.scale), "", forwarding.plain)
        self.file = replace(
            self.file, switches={name: replace(one, keys=keys) for name, one in self.file.switches.items()}
        )
        self._scheme = forwarding.scheme
        self._rules = Rules(self.file)
        self._put: Mapping[str, Sequence[_core.KernelGroup]] = {}
        with inside(lab.blueprint.switch_namespace):
            self._numbers = {
                self.file.topology.port[end]: socket.if_nametoindex(device)
                for switch in self.file.switches.values()
                for end, device in switch.interfaces.items()
            }

    def install(self) -> int:
        """Puts groups by the links' state."""
        loads = (0.0,) * len(self.up)
        view = View(self.file.topology, tuple(self.up), tuple(self.rate_bps), loads, self._numbers)
        plans = self._rules.plan(view, self.weights())
        self._put = {name: plan.desired for name, plan in plans.items()}
        return self._stand()

    def notice(self) -> None:
        """Puts the same groups without ports that are dead."""
        self._stand()

    def clear(self) -> int:
        """Takes all datapaths away."""
        return kernel_switches(self.lab).clear()

    def _stand(self) -> int:
        for name, groups in self._put.items():
            dead = {self._numbers[port] for port in self.file.topology.ports_of[name] if not self.up[port]}
            kernel_switches(self.lab).stand(name, self._scheme, without(groups, frozenset(dead)))
        return sum(len(groups) for groups in self._put.values())


SWITCHES = DatapathSwitches
"""See `lab.run.forwarding`."""
