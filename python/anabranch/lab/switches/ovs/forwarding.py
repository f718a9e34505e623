"""Bridges of Open vSwitch that do what a scenario's `[routing]` says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from anabranch.deploy.control.policy import View
from anabranch.deploy.control.rules import Rules
from anabranch.deploy.openflow.connection import connect
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.session.keys import BridgeKeys
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.by_table import EACH_SWITCH, Table, balancer_of, by_table, table_of
from anabranch.lab.run.forwarding import AskedWeights, Switches, words_of
from anabranch.simulate.load_balancers import schemes

PORT_NAME_MAX = 15
"""Characters that OpenFlow keeps of a port's name."""


@dataclass(frozen=True)
class Forwarding:
    """How switches split, in Open vSwitch's terms."""

    recipe: str
    weights: AskedWeights

    def __str__(self) -> str:
        return f"{self.recipe}, {words_of(self.weights)}"


def choose(routing: Mapping[str, Any], recipe: str = "") -> Forwarding:
    """Chooses how bridges split for a resolved `[routing]`, perhaps by another recipe than goes with it.

    Raises:
        AnabranchError: no switch does that by groups; it says which they do.

    """
    name, balancer = routing.get("balance", routing["table"]), balancer_of(routing)
    able = ", ".join(one.name for one in schemes() if one.runs.open_vswitch is not None)
    if "scheme" in routing or (balancer is not None and balancer.decided_by != EACH_SWITCH):
        raise AnabranchError(f"routing.balance: {name}: Open vSwitch has nothing that does it; a lab can do {able}")
    if routing["granularity"] != "flow":
        raise AnabranchError(
            f"routing.granularity: {routing['granularity']}: Open vSwitch keeps a flow on its path; "
            f"`anabranch lab reproduce wino` sprays by marks of hosts, a lab can do {able}"
        )
    usual = recipes().get(table_of(routing))
    if usual is None:
        raise AnabranchError(f"routing.table: {routing['table']}: no group of Open vSwitch is one; a lab can do {able}")
    # Under equal weights all recipes are fair, for any other key of the scenario.
    return Forwarding(recipe or usual, "equal" if routing["table"] == "uniform" else routing["weights"])


@cache
def recipes() -> dict[Table, str]:
    """Recipe of Open vSwitch that splits as each table does. Slots are 256, whatever `entries` says."""
    return {
        table: balancer.runs.open_vswitch
        for table, balancers in by_table().items()
        for balancer in balancers
        if balancer.runs.open_vswitch is not None
    }


class BridgeSwitches(Switches):
    """Forwarding state of a lab's bridges (`forwarding.Switches`)."""

    def __init__(self, lab: Lab, forwarding: Forwarding) -> None:
        super().__init__(lab, forwarding.weights, str(forwarding))
        self.file = replace(self.file, recipe=forwarding.recipe)
        self._rules = Rules(self.file)

    def install(self) -> int:
        """Brings every bridge's tables there."""
        return asyncio.run(self._install(keep=True))

    def notice(self) -> None:
        """Buckets are watched by Open vSwitch itself (`watch_port`)."""

    def clear(self) -> int:
        """Takes rules and groups away."""
        return asyncio.run(self._install(keep=False))

    async def _install(self, *, keep: bool) -> int:
        connections = await asyncio.gather(*(connect(self._openflow(name)) for name in self.lab.switches))
        try:
            openflow: dict[int, int] = {}
            for name, connection in zip(self.lab.switches, connections, strict=True):
                numbers = {port.name: port.number for port in await connection.described_ports()}
                for end, interface in self.file.switches[name].interfaces.items():
                    openflow[self.file.topology.port[end]] = numbers[interface[:PORT_NAME_MAX]]
            loads = (0.0,) * len(self.up)
            view = View(self.file.topology, tuple(self.up), tuple(self.rate_bps), loads, openflow)
            plans = self._rules.plan(view, self.weights()) if keep else {}
            changes = 0
            for name, connection in zip(self.lab.switches, connections, strict=True):
                owned = Ownership(self.file.owner).own(
                    await connection.flows(), await connection.groups(), await connection.meters()
                )
                mods = TablesChange.between(owned, plans[name].desired if name in plans else Tables()).mods
                await connection.commit(mods)
                changes += len(mods)
            return changes
        finally:
            for connection in connections:
                connection.close()

    def _openflow(self, switch: str) -> str:
        keys: BridgeKeys = self.file.switches[switch].keys
        return keys.openflow


SWITCHES = BridgeSwitches
"""The class that a lab's runs take (`lab.run.forwarding`)."""
