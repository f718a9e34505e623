"""The observed bridge: ports, rules, groups, and which of them belong to a plan's owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.tables import Flow, Group, Tables
from anabranch.deploy.openflow.tls import Tls
from anabranch.deploy.targets.ovs import database
from anabranch.deploy.targets.ovs.options import Options
from anabranch.deploy.targets.ovs.plan_file import PlanFile
from anabranch.files.errors import AnabranchError

Result = TypeVar("Result")
RUN_FOLDER = Path("/var/run/openvswitch")
BRIDGE = "br0"


@dataclass(frozen=True)
class Observed:
    """All that a bridge said of itself."""

    address: str
    tls: Tls | None

    datapath_id: int
    ports: dict[str, int]
    up: dict[int, bool]
    flows: list[Flow]
    groups: list[Group]
    own: Tables
    """Tables of the plan's owner."""

    @property
    def names(self) -> dict[int, str]:
        """Names of ports by number."""
        return {number: name for name, number in self.ports.items()}


@contextmanager
def observe(plan: PlanFile, options: Options, *, writes: bool) -> Iterator[Observed]:
    """The bridge of a plan; OpenFlow has no lock to hold until a change."""
    del writes
    tls = None if options.tls_files is None else Tls(*options.tls_files)
    reached = address(plan, options)
    yield on_connection(reached, tls, lambda connection: read(connection, plan, reached, tls))


def on_connection(address: str, tls: Tls | None, run: Callable[[Connection], Coroutine[None, None, Result]]) -> Result:
    """The result of something that is run on a connection to a bridge."""

    async def connected() -> Result:
        connection = await connect(address, tls)
        try:
            return await run(connection)
        finally:
            connection.close()

    return asyncio.run(connected())


async def read(connection: Connection, plan: PlanFile, address: str, tls: Tls | None) -> Observed:
    """All that a bridge says of itself on a connection."""
    described = await connection.described_ports()
    flows, groups, meters = await connection.flows(), await connection.groups(), await connection.meters()
    return Observed(
        address,
        tls,
        connection.datapath_id,
        {port.name: port.number for port in described},
        {port.number: port.link_up for port in described},
        flows,
        groups,
        plan.ownership.own(flows, groups, meters),
    )


def address(plan: PlanFile, options: Options) -> str:
    """The address at which the bridge speaks OpenFlow: as said, as its database says, or the system's own socket.

    Raises:
        AnabranchError: the database has no such bridge, or the bridge lets nobody in.

    """
    bridge = options.bridge or plan.bridge or BRIDGE
    openflow, ovsdb = options.openflow or plan.openflow, options.ovsdb or plan.ovsdb
    if ovsdb and not options.openflow:
        row = database.ask(ovsdb, bridge, options.tls_files)
        return openflow or database.openflow_address(ovsdb, row)
    socket = RUN_FOLDER / f"{bridge}.mgmt"
    if not openflow and not socket.exists():
        others = ", ".join(sorted(file.stem for file in RUN_FOLDER.glob("*.mgmt")))
        hint = f"there are: {others}" if others else "start Open vSwitch, or give --openflow or --ovsdb"
        raise AnabranchError(f"bridge: {bridge}: not on this machine; {hint}")
    return openflow or f"unix:{socket}"
