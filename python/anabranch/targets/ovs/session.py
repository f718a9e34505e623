"""One switch: reached and reached again, read, and brought to its plan by the least that has to change."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from anabranch.control.backoff import Backoff
from anabranch.control.ending import end
from anabranch.control.event import Events
from anabranch.control.file import SwitchFile
from anabranch.control.log import LOGGER
from anabranch.control.network import Network
from anabranch.control.policy import Plan, PlannedGroup
from anabranch.control.state import SwitchState
from anabranch.errors import AnabranchError
from anabranch.openflow.connection import Connection, connect
from anabranch.openflow.error import Disconnected, ProtocolError
from anabranch.openflow.port import Port
from anabranch.openflow.tables import Tables
from anabranch.openflow.tls import Tls
from anabranch.targets.ovs.change import TablesChange
from anabranch.targets.ovs.ownership import COOKIE_MASK, Ownership
from anabranch.targets.ovs.shares import Shares

TIMEOUT_S = 5.0
"""For each answer of a switch."""
PROBE_S = 2.0
"""For an answer of a switch while another connection claims to be it."""


@dataclass
class Timing:
    """Times of one session, in seconds."""

    interval_s: float
    """Between two readings of counters."""
    audit_s: float
    """Between two readings of the tables."""


@dataclass
class Record:
    """The part of `SwitchState` besides the tables."""

    connected: bool = False
    datapath_id: int | None = None
    changed_s: float = 0.0
    last_error: str = ""
    connects: int = 0
    commits: int = 0
    changes: int = 0
    committed_s: float = 0.0
    commit_duration_s: float = 0.0
    lost_s: float = 0.0

    def lost(self) -> None:
        """Notes that there is no connection any more."""
        self.connected = False
        self.changed_s = self.lost_s = time.time()


@dataclass
class Session:
    """The controller's side of one switch."""

    switch: SwitchFile
    ownership: Ownership
    network: Network
    events: Events
    changed: Callable[[], None]
    """Told when the network or what is known of the switch is not as it was."""
    timing: Timing
    tls: Tls | None = None
    commits: bool = True
    """False: only look."""
    counted: tuple[int, int] | None = None
    """Cookie and mask of the rules whose counters are read."""
    installed: Tables | None = None
    """What of ours the switch holds; None while that is not known."""
    shares: Shares = field(default_factory=Shares)
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        self.wanted: Plan | None = None
        self._since_s: float | None = None
        self._missed: list[tuple[Port, str]] | None = None
        """Changes of ports while the ports are being described."""
        self.hint = ""
        """What its database says of why it cannot be reached."""
        self._wake = asyncio.Event()
        self._refused: Tables | None = None
        """What it was last asked for in vain."""
        self._connection: Connection | None = None
        self._backoff = Backoff(self.switch.name)
        self._random = random.Random(self.switch.name)

    @property
    def name(self) -> str:
        """The switch's."""
        return self.switch.name

    def want(self, plan: Plan, since_s: float | None = None) -> None:
        """Has the switch brought to this plan; one that comes while another is on its way replaces it.

        `since_s` is when, on the monotonic clock, the port changed its state that this is the answer to.
        """
        if plan is not self.wanted:
            self.wanted = plan
            self._since_s = self._since_s or since_s
            self._wake.set()

    def difference(self) -> TablesChange | None:
        """The change from switch to plan; `None` while either is not known."""
        if self.wanted is None or self.installed is None:
            return None
        return TablesChange.between(self.installed, self.wanted.tables)

    @property
    def heard(self) -> bool:
        """Whether it is known what the switch holds."""
        return self.installed is not None

    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """Bytes by OpenFlow port over the last measured interval, of a planned group."""
        found = Counter[int]()
        for group_id in planned.counted:
            found.update(self.shares.of(group_id))
        return found

    @property
    def refused(self) -> bool:
        """Whether it has refused what is planned now."""
        return self._refused is not None and self.wanted is not None and self.wanted.tables == self._refused

    async def run(self) -> None:
        """Keeps a connection to a switch that listens."""
        while True:
            try:
                connection = await connect(self.switch.openflow, self.tls, TIMEOUT_S)
            except AnabranchError as error:
                self._failed(error)
            else:
                await self.welcome(connection)
            await asyncio.sleep(self._backoff.next_s())

    async def welcome(self, connection: Connection) -> None:
        """Serves a connection until it ends.

        One that says it is a switch that is connected and answers is a stranger.
        """
        if self._connection is not None and await _answers(self._connection):
            found = f"{connection.datapath_id:016x}"
            problem = "another connection has this datapath_id and answers"
            self.events.tell("stranger", self.name, datapath_id=found, peer=connection.peer, error=problem)
            connection.close()
            return
        try:
            await self._attend(connection)
        except AnabranchError as error:
            self._failed(error)
        except Exception as error:
            # Whatever one switch can say to find a mistake in here, the others are not to suffer from it.
            self._failed(AnabranchError(f"{self.name}: {error!r}: a mistake of anabranch's; please report it"))
            LOGGER.exception("mistake", extra={"switch": self.name})

    async def _attend(self, connection: Connection) -> None:
        """Serves one connection until it ends.

        Raises:
            AnabranchError: the switch is another one, or it does not answer as it must.

        """
        name, given = self.name, self.switch.datapath_id
        if given is not None and connection.datapath_id != given:
            connection.close()
            found = f"{connection.datapath_id:016x}"
            raise AnabranchError(f"{name}: datapath_id: {found}: not the {given:016x} of the file; correct either")
        if self._connection is not None:
            # The switch has begun anew before we noticed its end.
            self._connection.close()
        self._connection = connection
        try:
            await self._begin(connection)
            work = [self._follow(connection), self._measure(connection), connection.wait_closed()]
            tasks = [asyncio.ensure_future(part) for part in work]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                await end(tasks)
        finally:
            reason = connection.failure
            connection.close()
            if self._connection is connection:
                self._connection = None
                self._end(reason)

    async def _begin(self, connection: Connection) -> None:
        """Reads all there is to know of the switch."""
        missed: list[tuple[Port, str]] = []
        self._missed = missed
        connection.on_port_status = self._port_status
        ports = await connection.described_ports()
        self._missed = None
        before = self.network.openflow_ports(self.name)
        self.network.described(self.name, ports)
        for port, how in missed:
            self.network.port_status(self.name, port, how)
        if self.network.openflow_ports(self.name) != before:
            # The plan names ports by numbers that are others' now.
            self.wanted = None
        self.installed = await self._read(connection)
        self._refused = None
        self._backoff.succeeded()
        self.record.connected, self.record.datapath_id = True, connection.datapath_id
        self.record.changed_s, self.record.last_error = time.time(), ""
        self.record.connects += 1
        held = {kind: len(getattr(self.installed, kind)) for kind in ("flows", "groups", "meters")}
        self.events.tell("connected", self.name, datapath_id=f"{connection.datapath_id:016x}", **held)
        self._wake.set()
        self.changed()

    def _end(self, reason: str) -> None:
        """Forgets what only a connected switch can say; `reason` is empty where the other end did not cause the end."""
        self.installed = None
        self.shares.forget()
        self.network.unmeasured(self.name)
        if self.record.connected:
            self.record.lost()
            self.record.last_error = reason
            self.events.tell("lost", self.name, error=reason or None)

    def _failed(self, error: AnabranchError) -> None:
        """Tells an error once, however often it comes."""
        text = f"{error} ({self.hint})" if self.hint else str(error)
        if self.record.last_error != text:
            self.record.last_error, self.record.changed_s = text, time.time()
            self.events.tell("unreachable", self.name, error=text)

    async def _read(self, connection: Connection) -> Tables:
        flows = await connection.flows(self.ownership.cookie, COOKIE_MASK)
        return self.ownership.own(flows, await connection.groups(), await connection.meters())

    async def _follow(self, connection: Connection) -> None:
        """Brings the switch to whatever is wanted, and looks from time to time whether it still is there."""
        read = True
        while True:
            self._wake.clear()
            await self._reconcile(connection, read)
            try:
                # Not all switches at a time: what a port has to say would wait behind all the tables.
                await asyncio.wait_for(self._wake.wait(), self.timing.audit_s * self._random.uniform(0.75, 1.25))
                read = False
            except asyncio.TimeoutError:
                read = await self._audit(connection)

    async def _audit(self, connection: Connection) -> bool:
        """Reads the tables; answers whether they were not what we thought."""
        found = await self._read(connection)
        if self._wake.is_set() or found == self.installed:
            return False
        lines = len(TablesChange.between(self.installed or Tables(), found).mods)
        self.events.tell("drifted", self.name, changes=lines)
        self.installed, self._refused = found, None
        return True

    async def _reconcile(self, connection: Connection, read: bool) -> None:
        """Commits differences until there are none. `read`: what is installed was just read, not concluded.

        What was read while somebody else was changing it is of no one moment: what the switch then says or holds is
        believed only of a reading that came after it.
        """
        again = False
        while self.commits and self.wanted is not None and self.wanted.tables != self._refused:
            wanted, since_s, self._since_s = self.wanted.tables, self._since_s, None
            found = self.difference()
            if not found:
                return
            begun_s = time.monotonic()
            try:
                await connection.commit(found.mods)
            except (Disconnected, ProtocolError):
                raise
            except AnabranchError as error:
                # By the switch; or it cannot be said in OpenFlow at all.
                before, self.installed = self.installed, await self._read(connection)
                if again or self.installed == before:
                    self._refuse(wanted, str(error))
                    return
                again = read = True
                continue
            self.installed = wanted
            ended_s = time.monotonic()
            duration_s, lag_s = ended_s - begun_s, ended_s - since_s if since_s is not None else None
            self.record.commits += 1
            self.record.changes += len(found.mods)
            self.record.committed_s, self.record.commit_duration_s = time.time(), duration_s
            self.record.last_error = ""
            self.events.tell("committed", self.name, changes=len(found.mods), duration_s=duration_s, lag_s=lag_s)
            if read:
                # Some switches take what they then do not keep; after every reading that is looked at.
                self.installed = await self._read(connection)
                if again and self.installed != wanted:
                    left = len(TablesChange.between(self.installed, wanted).mods)
                    self._refuse(wanted, f"{left} changes were confirmed and are not in its tables")
                    return
                read = again = self.installed != wanted

    def _refuse(self, wanted: Tables, error: str) -> None:
        self._refused = wanted
        self.record.last_error = error
        self.events.tell("refused", self.name, error=error)

    async def _measure(self, connection: Connection) -> None:
        """Reads counters, each switch at moments of its own."""
        rest_s = self.timing.interval_s * self._random.uniform(0.5, 1.5)
        while True:
            counters = await connection.port_counters()
            self.network.measured(self.name, counters)
            if self.installed is not None:
                self.shares.measured(self.installed.groups, await connection.bucket_counters())
            if self.counted is not None:
                self.network.rules.measured(self.name, await connection.flow_counters(*self.counted))
            await asyncio.sleep(rest_s)
            rest_s = self.timing.interval_s

    def _port_status(self, port: Port, how: str) -> None:
        if self._missed is not None:
            # Which of it the description knows already cannot be told; the last word on each port is right in any case.
            self._missed.append((port, how))
            return
        before = self.network.openflow_ports(self.name)
        if self.network.port_status(self.name, port, how) or self.network.openflow_ports(self.name) != before:
            self.changed()

    def state(self) -> SwitchState:
        """The switch, for the snapshot."""
        found, record, tables = self.difference(), self.record, self.installed or Tables()
        return SwitchState(
            name=self.name,
            address=self.switch.openflow,
            connected=record.connected,
            datapath_id=record.datapath_id,
            changed_s=record.changed_s,
            last_error=record.last_error,
            differences=len(found.mods) if found else 0,
            refused=self.refused,
            flows=len(tables.flows),
            groups=len(tables.groups),
            meters=len(tables.meters),
            connects=record.connects,
            commits=record.commits,
            changes=record.changes,
            committed_s=record.committed_s,
            commit_duration_s=record.commit_duration_s,
            lost_s=record.lost_s,
        )

    def close(self) -> None:
        """Ends the connection and leaves the switch's tables as they are."""
        self.record.connected = False
        if self._connection is not None:
            self._connection.close()


async def _answers(connection: Connection) -> bool:
    """Whether there is still somebody."""
    try:
        await asyncio.wait_for(connection.barrier(), PROBE_S)
    except (AnabranchError, asyncio.TimeoutError):
        return False
    return True
