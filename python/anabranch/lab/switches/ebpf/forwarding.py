"""Datapaths in the kernel that do what a scenario's `[routing]` says."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NoReturn

from anabranch import _core
from anabranch.deploy.control.policy import View
from anabranch.deploy.control.rules import Rules
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.ebpf.scheme import PLAIN
from anabranch.deploy.targets.ebpf.session.groups import without
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.by_table import EACH_SWITCH, Table, balancer_of, by_table, table_of
from anabranch.lab.run.forwarding import AskedWeights, Switches, words_of
from anabranch.lab.run.transport import time_ns
from anabranch.lab.switches.ebpf import cycles
from anabranch.lab.switches.ebpf.switching import kernel_switches
from anabranch.simulate.load_balancers import KernelProgram, LoadBalancer, schemes
from anabranch.simulate.runs.pair_plan import planners

FLOW, UNIFORM = "flow", "uniform"
CELL = "65536 B"
"""Cell of presto's program: what the kernel's own segmentation offload makes at most."""


@dataclass(frozen=True)
class Forwarding:
    """How datapaths split."""

    scheme: str
    """One of `_core.KERNEL_SCHEMES`."""
    weights: AskedWeights
    pause_ns: float = 0.0
    """In the scenario's time."""
    plain: bool = False
    """Whether weights are factors of scores as they are."""
    planner: str = ""
    """Load balancer whose plans for pairs of leaves are turns, where the fabric is as built."""
    keys: tuple[tuple[str, str], ...] = ()
    """Its parameters, as overrides of a scenario."""

    def __str__(self) -> str:
        pause = f", pause {self.pause_ns / 1e3:g} us" if self.pause_ns else ""
        plain = " as factors" if self.plain else ""
        order = f"lists of {self.planner}" if self.planner else words_of(self.weights)
        return f"{self.scheme}, {order}{plain}{pause}"


def choose(routing: Mapping[str, Any], recipe: str = "") -> Forwarding:
    """Chooses how datapaths split for a resolved `[routing]`.

    Raises:
        AnabranchError: no program does that; it says which there are.

    """
    if recipe:
        raise AnabranchError(f"--recipe {recipe}: recipes are of Open vSwitch's groups; leave it out")
    balancer = balancer_of(routing)
    if "scheme" in routing:
        return _by_keys(balancer, routing)
    table, weights = table_of(routing), routing["weights"]
    program = _program(table)
    if program is None or (balancer is not None and balancer.decided_by != EACH_SWITCH):
        _refuse(balancer, table)
    asked: AskedWeights = "equal" if table.table == UNIFORM else weights
    pause_ns = 0.0 if program.pause_s is None else time_ns(routing, "gap")
    return Forwarding(program.programs[0], asked, pause_ns, plain=table == (FLOW, PLAIN, ""))


def _program(table: Table) -> KernelProgram | None:
    """The program that splits as a table does; slots are 4,096, whatever `entries` says."""
    known = programs()
    if table in known:
        return known[table]
    # A table that runs as slots for flows also runs as slots for flowlets and packets; only its weights differ.
    flows, slots = known.get(Table(FLOW, table.table)), known[Table(FLOW, UNIFORM)]
    if flows is None or flows.programs != slots.programs:
        return None
    return known.get(Table(table.granularity, UNIFORM))


@cache
def programs() -> dict[Table, KernelProgram]:
    """Programs by the tables that they split as."""
    return {
        table: balancer.runs.kernel
        for table, balancers in by_table().items()
        for balancer in balancers
        if balancer.runs.kernel is not None
    }


def _by_keys(balancer: LoadBalancer | None, routing: Mapping[str, Any]) -> Forwarding:
    """The program of a load balancer that is more than a table."""
    keys: Mapping[str, Any] = routing["scheme"]
    if balancer is None or balancer.runs.kernel is None or balancer.runs.kernel.output:
        _refuse(balancer, table_of(routing))
    program, variant = balancer.runs.kernel, balancer.runs.kernel_variant
    if variant is not None and keys[variant[0]] == variant[1]:
        program = variant[2]
    if keys.get("cell", CELL) != CELL:
        raise AnabranchError(f"routing.scheme.cell: {keys['cell']}: the kernel's program has {CELL}; take that")
    # By capacity in turn where a switch cannot keep its list, and while links are not as built.
    weights: AskedWeights = "capacity" if program.weighted else "equal"
    pause_ns = 0.0 if program.pause_s is None else time_ns(keys, "idle")
    if balancer.name not in planners():
        return Forwarding(program.programs[0], weights, pause_ns)
    written = tuple((f"routing.scheme.{key}", json.dumps(value)) for key, value in keys.items())
    return Forwarding(program.programs[0], weights, pause_ns, planner=balancer.name, keys=written)


def _refuse(balancer: LoadBalancer | None, table: Table) -> NoReturn:
    name = table.table if balancer is None else balancer.name
    reason = "no program of the kernel's datapaths does it"
    if balancer is not None and balancer.runs.kernel is not None and balancer.runs.kernel.output:
        reason = f"it sprays by marks of hosts: `anabranch lab reproduce {name}`"
    elif table.granularity == "flowcell" and (balancer is None or balancer.fits_kernel):
        reason = "flowcells in random order have no program, presto has them in turn"
    elif balancer is not None:
        reason = balancer.why_no_program or reason
    able = ", ".join(one.name for one in schemes() if one.runs.kernel is not None and not one.runs.kernel.output)
    raise AnabranchError(f"routing.balance: {name}: {reason}; a lab with --switch ebpf can do {able}")


class DatapathSwitches(Switches):
    """Forwarding state of a lab's datapaths (`forwarding.Switches`)."""

    def __init__(self, lab: Lab, forwarding: Forwarding) -> None:
        super().__init__(lab, forwarding.weights, str(forwarding))
        keys = DatapathKeys(forwarding.scheme, round(forwarding.pause_ns / lab.scale), "", forwarding.plain)
        self.file = replace(
            self.file, switches={name: replace(one, keys=keys) for name, one in self.file.switches.items()}
        )
        self._scheme = forwarding.scheme
        self._lists: Mapping[cycles.Pair, Sequence[str]] = {}
        if forwarding.planner:
            text, file = lab.record.scenario, lab.record.scenario_file
            self._lists = cycles.lists(self.file.topology, text, file, forwarding.planner, forwarding.keys)
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
        if all(self.up) and tuple(self.rate_bps) == self.file.topology.rate_bps:
            self._put = {name: [self._in_turn(name, group) for group in put] for name, put in self._put.items()}
        return self._stand()

    def _in_turn(self, switch: str, group: _core.KernelGroup) -> _core.KernelGroup:
        """A group with the switch's list for the leaf of its name, if it has one."""
        topology = self.file.topology
        next_hops = self._lists.get((switch, group.name))
        if next_hops is None:
            return group
        return cycles.in_turn(group, switch, next_hops, lambda end: self._numbers[topology.port[end]])

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
"""The class that a lab's runs take (`lab.run.forwarding`)."""
