"""Tables of a fabric's switches as the controller keeps them: a folder per switch, compared and written whole."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from anabranch.deploy.control.fabric import PORT_NAME_MAX, FabricFile, SwitchFile
from anabranch.deploy.control.policy import PlannedGroup
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.control.switch_kind import Attended, SwitchKind
from anabranch.deploy.openflow.port import Port
from anabranch.deploy.service.needs import Needs
from anabranch.deploy.targets.protocol import Change
from anabranch.deploy.targets.table.change import change
from anabranch.deploy.targets.table.observe import Observed, TableState, observed_in
from anabranch.deploy.targets.table.recipes import LABELS
from anabranch.deploy.targets.table.session.tables import TableKeys, TablesForwarding
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings

TARGET = "table"
Result = TypeVar("Result")


@dataclass(frozen=True)
class TablesChange:
    """The change from the tables of a folder to those of the plan; false if there is none."""

    change: Change

    def __len__(self) -> int:
        return len(self.change)

    def lines(self, port_names: Mapping[int, str] | None = None) -> list[str]:
        """A line per change. Tables name their ports themselves."""
        del port_names
        return self.change.lines


class TableSession(Session[TableState]):
    """The controller's side of one folder of tables."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Has not looked yet."""
        super().__init__(switch, surroundings)
        self.keys: TableKeys = switch.keys
        self._owner = surroundings.fabric.owner

    def desired(self) -> TableState | None:
        """The tables of the plan."""
        state: TableState | None = None if self.plan is None else self.plan.desired
        return state

    def change(self) -> TablesChange | None:
        """The change from folder to plan; `None` while either is not known."""
        desired = self.desired()
        if desired is None or self._observed is None:
            return None
        file = Path(self.keys.folder) / f"owner-{self._owner}.json"
        return TablesChange(change(Observed(file, self._observed, {}), desired))

    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """No sizes: a table counts nothing."""
        del planned
        return Counter()

    async def run(self) -> None:
        """Keeps the tables at the plan, and tries again where that cannot be."""
        while True:
            try:
                await self._attend()
            except AnabranchError as error:
                self.failed(error)
            except Exception as error:
                self.mistaken(error)
            await asyncio.sleep(self._backoff.next_s())

    async def _attend(self) -> None:
        """Follows the plan.

        Raises:
            AnabranchError: the folder cannot be read, or a file in it is no table.

        """
        names = enumerate(self.switch.interfaces.values(), start=1)
        # A table does not report the state of its ports; the other ends of the links may.
        self.network.described(self.name, [Port(number, name[:PORT_NAME_MAX], "", True, 0) for number, name in names])
        observed = await self._call(self._look)
        self._connected(observed, tables=len(observed.tables))
        self._wake.set()
        self.changed()
        try:
            while True:
                self._wake.clear()
                await self._reconcile()
                if await self._rest():
                    await self._audit()
        finally:
            self._lost()

    async def _reconcile(self) -> None:
        """Writes what is planned, if that is not there."""
        desired, steps = self.desired(), self.change()
        if not self.commits or desired is None or not steps or desired == self._refused:
            return
        since_s, self._since_s = self._since_s, None
        begun_s = time.monotonic()
        try:
            await self._call(steps.change.commit)
        except AnabranchError as error:
            self._refuse(desired, str(error))
            return
        self._observed = desired
        self._committed(len(steps), begun_s, since_s)

    async def _audit(self) -> None:
        """Looks whether the folder still has what we thought."""
        observed = await self._call(self._look)
        self._refused = None
        if self._wake.is_set() or observed == self._observed:
            return
        file = Path(self.keys.folder)
        self._drifted(len(change(Observed(file, self._observed or TableState(), {}), observed)))
        self._observed = observed

    def _look(self) -> TableState:
        return observed_in(Path(self.keys.folder), self._owner).state

    async def _call(self, call: Callable[[], Result]) -> Result:
        """Has a thread read or write, which may take a while.

        Raises:
            AnabranchError: the file system refuses.

        """
        try:
            return await asyncio.to_thread(call)
        except OSError as error:
            problem = error.strerror or str(error)
            raise AnabranchError(
                f"{error.filename or self.keys.folder}: {problem}; check the folder of {self.name}"
            ) from None

    def _address(self) -> str:
        """Its folder."""
        return f"{TARGET}:{self.keys.folder}"

    def _counts(self) -> tuple[int, int, int]:
        """Prefixes and tables; there are no meters."""
        tables = self._observed.tables.values() if self._observed is not None else ()
        return sum(len(table.prefixes) for table in tables), len(tables), 0


class TableSessions(Attended):
    """Folders of tables that the controller keeps (`switch_kind.Attended`)."""

    def __init__(self, surroundings: Surroundings) -> None:
        switches = surroundings.fabric.switches_of(TARGET)
        self._tables = {switch.name: TableSession(switch, surroundings) for switch in switches}
        self.sessions = self._tables

    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Every folder by itself."""
        return [session.run() for session in self._tables.values()]


class Tables(SwitchKind[TableState]):
    """Kind of switch: a folder of tables (`switch_kind.SwitchKind`)."""

    target = TARGET
    datapath = "table"
    noun = "a table in a file"
    page = "control.md#tables-in-files"
    example = 'folder = "tables/NAME"'

    def keys(self, settings: Settings, switch: str) -> TableKeys:
        """Folder and recipe of the tables."""
        meaning = "Folder of a switch's tables; each switch has its own."
        folder = settings.text("folder", "", meaning, otherwise=REQUIRED, values="a folder")
        if not folder:
            hint = f'name the folder of its tables, as in folder = "tables/{switch}"'
            raise AnabranchError(f"{settings.file}: {settings.path}.folder: missing; {hint}")
        recipe = settings.one_of("recipe", next(iter(LABELS)), LABELS, "Technique and number of entries of its tables.")
        return TableKeys(folder, recipe)

    def check(self, fabric: FabricFile) -> None:
        """Every switch has a folder of its own."""
        folders: dict[Path, str] = {}
        for switch in fabric.switches_of(self.target):
            other = folders.setdefault(Path(switch.keys.folder).resolve(), switch.name)
            if other != switch.name:
                problem = f"{switch.keys.folder}: {other} has it; each has its own"
                raise AnabranchError(f"{fabric.file}: switch.{switch.name}.folder: {problem}")

    def forwarding(self, fabric: FabricFile) -> TablesForwarding:
        """A table for each leaf and each host."""
        del fabric
        return TablesForwarding()

    def needs(self, fabric: FabricFile) -> Needs:
        """Folders to write to."""
        return Needs(writes=frozenset(one.keys.folder for one in fabric.switches_of(TARGET)))

    def attend(self, surroundings: Surroundings) -> TableSessions:
        """One file per switch."""
        return TableSessions(surroundings)


KIND = Tables()
"""The kind of switch that the controller takes (`control.switch_kind`)."""
