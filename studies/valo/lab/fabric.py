"""The paper's Fig. 4: two edge switches and the paths between them, each over a core switch of its own."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv4Network
from pathlib import Path

from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.match import IPV4, Match
from anabranch.deploy.openflow.tables import Flow, Tables
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.split import Split, present_owners, render
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch

from .place import EDGES, SCENARIO, Place

PRIORITY, EXCEPTION_PRIORITY = 1000, 2000
SEEDS = {"leaf0": 0x0A, "leaf1": 0x0B}
"""Another one on each switch; fixed, so that a run can be repeated connection by connection."""


class Fabric(Place):
    """A lab of two edges (`leaf0`, `leaf1`) and cores (`spine0`, ...), and what we hold in its switches."""

    def __init__(self, lab: Lab, connections: dict[str, Connection], ports: dict[str, dict[str, int]]) -> None:
        super().__init__(lab)
        self._connections = connections
        self._ports = ports
        self._installed = {bridge: Tables() for bridge in lab.switches}
        self._ownership = Ownership()

    async def forward(self) -> None:
        """Has everything forwarded but the split: cores by the edge's prefix, edges to their own hosts."""
        for bridge in self.lab.switches:
            if bridge not in EDGES:
                towards = {edge: self._port(bridge, self.lab.interface(bridge, edge)) for edge in EDGES}
                await self._hold(bridge, {self._rule(self.prefix(edge), towards[edge]) for edge in EDGES})

    async def split(self, recipe: str, weights: Sequence[int], pins: dict[str, set[Flow]] | None = None) -> None:
        """Has both edges split by a recipe over the first paths; `pins` are rules of an edge that go before it."""
        for edge, other in (EDGES, EDGES[::-1]):
            ports = tuple(self._port(edge, self.uplink(path, edge)) for path in range(len(weights)))
            split = Split(0, tuple(weights), ports, recipe, SEEDS[edge])
            rendered = render(split, self._ownership, present_owners(self._installed[edge], self._ownership, 0))
            match = Match.of(eth_type=IPV4, ip_dst=str(self.prefix(other)))
            rule = Flow(0, PRIORITY, match, rendered.actions, rendered.goto, self._ownership.cookie)
            own = {
                self._rule(IPv4Network(host.address), self._port(edge, self.lab.interface(edge, name)))
                for name, host in self.lab.hosts.items()
                if host.leaf == edge
            }
            if len(own) == 1:
                # One host stands for all addresses of its prefix.
                own = {self._rule(self.prefix(edge), flow.actions[0].port) for flow in own}  # type: ignore[union-attr]
            flows = own | {rule} | set(rendered.flows) | ((pins or {}).get(edge) or set())
            await self._hold(edge, flows, rendered.groups)

    def forget_flows(self) -> None:
        """Empties the switches' caches, so that connections follow the split of now."""
        open_vswitch(self.lab).forget_flows()

    def pin(self, edge: str, path: int, **fields: int | str) -> Flow:
        """A rule that sends some connections over a path whatever the split."""
        match = Match.of(eth_type=IPV4, ip_proto=6, **fields)
        actions = (Output(self._port(edge, self.uplink(path, edge))),)
        return Flow(0, EXCEPTION_PRIORITY, match, actions, None, self._ownership.cookie)

    async def transmitted(self, edge: str, paths: int) -> list[int]:
        """Packets that have left an edge by each path, from the switch's own port counters."""
        counters = {one.number: one.tx_packets for one in await self._connections[edge].port_counters()}
        return [counters[self._port(edge, self.uplink(path, edge))] for path in range(paths)]

    async def _hold(self, bridge: str, flows: set[Flow], groups: frozenset = frozenset()) -> None:  # type: ignore[type-arg]
        desired = Tables(frozenset(flows), groups)
        change = TablesChange.between(self._installed[bridge], desired)
        if change:
            await self._connections[bridge].commit(change.mods)
        self._installed[bridge] = desired

    def _rule(self, prefix: IPv4Network, port: int) -> Flow:
        match = Match.of(eth_type=IPV4, ip_dst=str(prefix))
        return Flow(0, PRIORITY, match, (Output(port),), None, self._ownership.cookie)

    def _port(self, bridge: str, device: str) -> int:
        return self._ports[bridge][device]


@asynccontextmanager
async def fabric(name: str, paths: int, hosts_per_edge: int, buffer_packets: int) -> AsyncIterator[Fabric]:
    """Makes it, and removes it at the end.

    Raises:
        AnabranchError: no privilege or no Open vSwitch.

    """
    text = SCENARIO.format(paths=paths, hosts=hosts_per_edge, buffer_packets=buffer_packets)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.toml"
        file.write_text(text)
        with Lab.temporary(file, name) as lab:
            async with AsyncExitStack() as stack:
                connections, ports = {}, {}
                for bridge in lab.switches:
                    connection = await connect(open_vswitch(lab).openflow(bridge))
                    stack.callback(connection.close)
                    connections[bridge] = connection
                    ports[bridge] = {port.name: port.number for port in await connection.described_ports()}
                opened = Fabric(lab, connections, ports)
                await opened.forward()
                yield opened
