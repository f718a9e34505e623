"""A leaf-spine fabric of bridges in one private Open vSwitch with the dummy datapath: no privilege, no packets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.deploy.control import file
from anabranch.deploy.control.controller import Controller
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.recording import Recorder
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.tables import Group
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.needs import need_open_vswitch

PATIENCE_S = 120.0
"""How long a test waits for what must come: no measure of speed, only of never."""


@dataclass
class DummyFabric:
    """Bridges `leaf0`, ..., `spine0`, ... with ports called `leaf0-spine0`, `leaf0-host0`; host h is on leaf h."""

    folder: Path
    leaves: int = 2
    spines: int = 2
    settings: str = ""
    """Further tables of the file."""
    rate: str = "10 Gbps"
    """Rate of all links, as built."""
    open_vswitch: OpenVSwitch = field(init=False)

    def __post_init__(self) -> None:
        self.open_vswitch = OpenVSwitch(self.folder, dummy=True)

    def ports(self) -> dict[str, dict[str, str]]:
        """Interface by neighbour, by switch."""
        found: dict[str, dict[str, str]] = {}
        for leaf in range(self.leaves):
            found[f"leaf{leaf}"] = {f"host{leaf}": f"leaf{leaf}-host{leaf}"}
            for spine in range(self.spines):
                found[f"leaf{leaf}"][f"spine{spine}"] = f"leaf{leaf}-spine{spine}"
                found.setdefault(f"spine{spine}", {})[f"leaf{leaf}"] = f"spine{spine}-leaf{leaf}"
        return found

    def start(self) -> None:
        """Starts the daemons and makes all bridges."""
        self.open_vswitch.start()
        command: list[str] = []
        for number, (switch, ports) in enumerate(sorted(self.ports().items())):
            command += ["--", "add-br", switch, "--", "set", "bridge", switch, "datapath_type=dummy"]
            command += ["fail-mode=secure", f"other-config:datapath-id={number + 1:016x}"]
            for interface in ports.values():
                command += ["--", "add-port", switch, interface, "--", "set", "interface", interface, "type=dummy"]
        self.open_vswitch.vsctl(*command[1:])

    def text(self, policy: str = 'weights = "capacity"') -> str:
        """`fabric.toml`."""
        lines = [f'[fabric]\nkind = "leaf-spine"\nleaves = {self.leaves}\nspines = {self.spines}\nhosts_per_leaf = 1']
        lines += [f'link = {{ rate = "{self.rate}" }}']
        # Dummy devices have no cables.
        lines += [] if "[wiring]" in self.settings else ["[wiring]\nuse = false"]
        lines += [f"[policy]\n{policy}", '[listen]\nhttp = "127.0.0.1:0"', self.settings]
        for switch, ports in self.ports().items():
            named = ", ".join(f'{neighbour} = "{interface}"' for neighbour, interface in ports.items())
            lines.append(f'[switch.{switch}]\nopenflow = "{self.open_vswitch.openflow(switch)}"')
            lines.append(f'ovsdb = "{self.open_vswitch.database}"\nports = {{ {named} }}')
        for leaf in range(self.leaves):
            lines.append(f'[leaf.leaf{leaf}]\nprefixes = ["10.1.{leaf}.0/24"]')
            lines.append(f'[host.host{leaf}]\naddresses = ["10.1.{leaf}.1"]')
        return "\n".join(lines)

    def file(self, policy: str = 'weights = "capacity"') -> FabricFile:
        """The same, read."""
        return file.parse(self.text(policy), "fabric.toml")

    def link(self, interface: str, up: bool) -> None:
        """Sets the state of one end."""
        self.open_vswitch.appctl("netdev-dummy/set-admin-state", interface, "up" if up else "down")

    async def look(self, switch: str) -> Connection:
        """A connection of the test's own."""
        return await connect(self.open_vswitch.openflow(switch), timeout_s=PATIENCE_S)

    async def groups(self, switch: str) -> list[Group]:
        """Content of the switch."""
        connection = await self.look(switch)
        try:
            return sorted(await connection.groups(), key=lambda group: group.group_id)
        finally:
            connection.close()


@contextmanager
def dummy_fabric(
    folder: Path, leaves: int = 2, spines: int = 2, settings: str = "", rate: str = "10 Gbps"
) -> Iterator[DummyFabric]:
    """A started one; skips the test where Open vSwitch is missing."""
    need_open_vswitch()
    fabric = DummyFabric(folder, leaves, spines, settings, rate)
    try:
        fabric.start()
        yield fabric
    finally:
        fabric.open_vswitch.stop()


class Running:
    """A controller that runs beside the test."""

    def __init__(self, file: FabricFile, *, as_wired: bool = False, recorder: Recorder | None = None) -> None:
        self.controller = Controller(file, as_wired=as_wired, recorder=recorder)

    async def __aenter__(self) -> Running:
        self._task = asyncio.create_task(self.controller.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.controller.stop()
        await asyncio.wait_for(self._task, PATIENCE_S)

    async def until(self, what: Callable[[Snapshot], bool]) -> Snapshot:
        """Waits for a state."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            if self._task.done():
                self._task.result()
            snapshot = self.controller.snapshot()
            if what(snapshot):
                return snapshot
            assert time.monotonic() < deadline, snapshot
            await asyncio.sleep(0.005)

    async def converged(self) -> Snapshot:
        """Waits until every switch holds the plan."""
        return await self.until(lambda snapshot: snapshot.plans > 0 and snapshot.converged)


def members(snapshot: Snapshot, switch: str, leaf: str) -> dict[str, int]:
    """Planned weights by neighbour."""
    (group,) = [group for group in snapshot.groups if (group.switch, group.leaf) == (switch, leaf)]
    return {member.neighbour: member.weight for member in group.members}
