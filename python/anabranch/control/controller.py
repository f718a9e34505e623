"""The controller: sessions with all switches, the state of the network between them, and plans whenever it changes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping
from typing import Any

from anabranch.control import policy
from anabranch.control.backoff import Backoff
from anabranch.control.ending import end
from anabranch.control.event import Events
from anabranch.control.exposure import exposures
from anabranch.control.file import FabricFile
from anabranch.control.network import Network
from anabranch.control.policy import Plan
from anabranch.control.session import Session, Timing
from anabranch.control.snapshot import snapshot
from anabranch.control.state import Snapshot
from anabranch.control.topology import End
from anabranch.errors import AnabranchError
from anabranch.openflow.connection import Connection
from anabranch.openflow.listener import serve
from anabranch.openflow.tables import Tables
from anabranch.targets.ebpf.namespace import KernelNamespace
from anabranch.targets.ebpf.session import DatapathSession
from anabranch.targets.ovs.database_monitor import Database, DatabaseError, follow
from anabranch.targets.ovs.session import TIMEOUT_S, BridgeSession

SETTLE_S = 2.0
"""The first plan waits so long for switches that are not reached; half a network would be planned around."""
REST_S = 0.002
"""Between two plans at least, and as long as the last plan took: changes that come meanwhile share the next."""
OPENFLOW = "OpenFlow15"
SOURCES_MAX = 1000
"""Addresses whose last failed handshake is remembered, so that it is reported once however often it comes again."""


class Controller:
    """Follows one fabric while `run` runs. Nothing but `snapshot` may be called from other threads."""

    def __init__(self, file: FabricFile, events: Events | None = None, *, commits: bool = True) -> None:
        self.file = file
        self.events = events or Events()
        self.started_s = time.time()
        self.plans: Mapping[str, Plan] = {}
        self.planned = 0
        self.planned_s = 0.0
        self.plan_duration_s = 0.0
        self.measured_s = 0.0
        self.file_error = ""
        self.handshake_failed_s = 0.0
        self.handshake_error = ""
        self._commits = commits
        self._pending = file
        self._stop = asyncio.Event()
        self._anew = asyncio.Event()
        self._build(file)

    def _build(self, file: FabricFile) -> None:
        """All that depends on the file."""
        self.file = file
        self.network = Network(file, self.events)
        self._policy = policy.build(file.weights, file)
        self._tls = file.tls
        timing = Timing(file.interval_s, file.audit_s)
        self._openflow = {
            name: BridgeSession(
                switch,
                self.network,
                self.events,
                self._changed,
                timing,
                ownership=file.ownership,
                tls=self._tls,
                counted=self._policy.counted,
                commits=self._commits,
            )
            for name, switch in file.switches.items()
            if switch.kernel is None
        }
        self._kernel = {
            name: DatapathSession(
                switch, switch.kernel, self.network, self.events, self._changed, timing, commits=self._commits
            )
            for name, switch in file.switches.items()
            if switch.kernel is not None
        }
        self.sessions: dict[str, Session[Any]] = {**self._openflow, **self._kernel}
        places = dict.fromkeys(session.kernel.namespace for session in self._kernel.values())
        self._namespaces = [
            KernelNamespace(
                place,
                (session for session in self._kernel.values() if session.kernel.namespace == place),
                self.network,
                timing,
            )
            for place in places
        ]
        self._databases_heard = {switch.ovsdb: False for switch in file.switches.values() if switch.ovsdb}
        self._plan_error = ""
        self._handshake_errors: dict[str, str] = {}
        self._since_s: float | None = None
        self._settled = False
        self._next: asyncio.TimerHandle | None = None
        self._damped: asyncio.TimerHandle | None = None
        self._planned_until_s = 0.0

    def snapshot(self) -> Snapshot:
        """Snapshot of what is known now; may be called from any thread."""
        return snapshot(self)

    @property
    def unplanned(self) -> bool:
        """Whether the plan is not of the network as it is; may be asked from any thread."""
        return self._since_s is not None

    def labels(self) -> Mapping[str, object] | None:
        """Labels that hosts are to mark packets with, or None; may be called from any one thread."""
        return self._policy.labels(self._installed())

    def _installed(self) -> dict[str, Tables]:
        return {name: one.observed for name, one in list(self._openflow.items()) if one.observed is not None}

    def differences(self) -> list[str]:
        """Differences between the switches and their plans, for people."""
        found = []
        for name, session in self.sessions.items():
            change = session.change()
            if change:
                ends = {number: session.switch.interfaces[end] for end, number in self._numbers(name)}
                found += [f"{name}:", *(f"  {line}" for line in change.lines(ends))]
        return found

    def _numbers(self, switch: str) -> list[tuple[End, int]]:
        ends = self.network.topology.ends
        return [(ends[port], number) for port, number in self.network.openflow_ports(switch).items()]

    def stop(self) -> None:
        """Ends `run`; the switches keep their rules."""
        self._stop.set()

    def reload(self, file: FabricFile) -> None:
        """Goes on with another file: the switches are reached and read anew, and keep what the new plan keeps."""
        self.file_error = ""
        self._pending = file
        self._anew.set()

    def keep(self, error: AnabranchError) -> None:
        """Goes on with the file in force, since there is something wrong with the one that was to replace it."""
        self.file_error = str(error)
        self.events.tell("reload-failed", error=str(error))

    async def run(self) -> None:
        """Follows the fabric until `stop`.

        Raises:
            AnabranchError: `listen.openflow` cannot be listened at.

        """
        self.events.tell("started", file=self.file.file, policy=self.file.weights)
        while not self._stop.is_set():
            await self._run_file()
            if self._anew.is_set():
                self._anew.clear()
                self._build(self._pending)
                self.events.tell("reloaded", file=self.file.file, policy=self.file.weights)
        self.events.tell("stopped")

    async def _run_file(self) -> None:
        """Runs until it is stopped or the file is another."""
        for exposure in exposures(self.file):
            self.events.tell("exposed", error=exposure)
        address, server = self.file.openflow, None
        if address:
            server = await serve(address, self._come, self._tls, on_failure=self._not_introduced)
        work: list[Coroutine[Any, Any, object]] = [
            session.run() for session in self._openflow.values() if session.switch.openflow
        ]
        work += [namespace.run() for namespace in self._namespaces]
        work += [self._follow_database(address) for address in self._databases_heard]
        work += [self._settle(), self._tick(), self._stop.wait(), self._anew.wait()]
        tasks = [asyncio.create_task(part) for part in work]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for timer in (self._next, self._damped):
                if timer is not None:
                    timer.cancel()
            if server is not None:
                server.close()
            for session in self.sessions.values():
                session.close()
            await end(tasks)
            if server is not None:
                await server.wait_closed()

    async def _come(self, connection: Connection) -> None:
        """Takes a switch that came to us."""
        self._handshake_errors.pop(_source(connection.peer), None)
        for session in self._openflow.values():
            if not session.switch.openflow and session.switch.datapath_id == connection.datapath_id:
                await session.welcome(connection)
                return
        found = f"{connection.datapath_id:016x}"
        self.events.tell("stranger", datapath_id=found, peer=connection.peer)
        connection.close()

    def _not_introduced(self, peer: str, error: AnabranchError) -> None:
        """Reports one that came and is no switch that can be served; a switch tries again every few seconds."""
        self.handshake_failed_s, self.handshake_error = time.time(), f"{peer}: {error}"
        source, text = _source(peer), str(error).replace(peer, "")
        if self._handshake_errors.get(source) != text:
            if len(self._handshake_errors) >= SOURCES_MAX:
                self._handshake_errors.clear()
            self._handshake_errors[source] = text
            self.events.tell("handshake-failed", peer=peer, error=str(error))

    async def _settle(self) -> None:
        """Has the first plan made when all switches are read, or when enough time has passed."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._all_heard(), SETTLE_S)
        self._settled = True
        self._changed()
        await asyncio.Event().wait()

    async def _all_heard(self) -> None:
        while not (all(session.heard for session in self.sessions.values()) and all(self._databases_heard.values())):
            await asyncio.sleep(0.01)

    async def _tick(self) -> None:
        """Plans by loads, as often as they are measured."""
        while True:
            await asyncio.sleep(self.file.interval_s)
            # The first reading gives no load, and a plan by loads that nobody measured would undo the one before.
            if self.network.measure():
                self.measured_s = time.time()
                self._changed(port=False)

    def _changed(self, port: bool = True) -> None:
        """Has a plan made soon: at once if the last is long ago. `port`: a port's state is the reason."""
        now_s = time.monotonic()
        if port and self._since_s is None:
            self._since_s = now_s
        if self._settled and self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.call_later(max(0.0, self._planned_until_s - now_s), self._plan)

    def _plan(self) -> None:
        self._next = None
        begun_s, since_s = time.monotonic(), self._since_s
        self.network.refresh()
        try:
            held = {name: one.observed for name, one in self._kernel.items() if one.observed is not None}
            plans = self._policy.plan(self.network.view(self._installed(), held))
        except AnabranchError as error:
            if str(error) != self._plan_error:
                self._plan_error = str(error)
                self.events.tell("plan-failed", error=str(error))
            plans = self.plans
        else:
            self._plan_error = ""
        changed = sum(1 for name, plan in plans.items() if plan is not self.plans.get(name))
        self.plans = dict(plans)
        for name, plan in plans.items():
            self.sessions[name].want(plan, since_s)
        self._since_s = None
        ended_s = time.monotonic()
        self._planned_until_s = ended_s + max(REST_S, ended_s - begun_s)
        if changed:
            self.planned += 1
            self.planned_s, self.plan_duration_s = time.time(), ended_s - begun_s
            self.events.tell("planned", switches=changed, duration_s=ended_s - begun_s)
        self._watch_damped()

    def _watch_damped(self) -> None:
        """Has damped links looked at again when the first one's time is over."""
        wakes_s = self.network.wakes_s()
        if self._damped is not None:
            self._damped.cancel()
            self._damped = None
        if wakes_s is not None:
            loop = asyncio.get_running_loop()
            self._damped = loop.call_later(max(0.0, wakes_s - time.monotonic()), self._changed, False)

    async def _follow_database(self, address: str) -> None:
        """Keeps a connection to one OVSDB, which may be that of many switches."""
        switches = [name for name, switch in self.file.switches.items() if switch.ovsdb == address]
        context = self._tls.context(server=False) if self._tls and address.startswith("ssl:") else None
        backoff, told = Backoff(address), False
        while True:
            try:
                async for database in follow(address, context, TIMEOUT_S):
                    backoff.succeeded()
                    told = False
                    self._take_database(address, switches, database)
            except DatabaseError as error:
                if not told:
                    told = True
                    self.events.tell("database-lost", error=str(error))
            await asyncio.sleep(backoff.next_s())

    def _take_database(self, address: str, switches: list[str], database: Database) -> None:
        self._databases_heard[address] = True
        if self.network.interfaces(switches, database.interfaces.values()):
            self._changed()
        for name in switches:
            self._openflow[name].hint = _hint(name, database)


def _source(peer: str) -> str:
    """An address without its port, which is another one each time."""
    return peer.rpartition(":")[0] or peer


def _hint(name: str, database: Database) -> str:
    """Why a bridge of this name will not speak with us, if its database says so."""
    for bridge, protocols in database.protocols.values():
        if bridge == name and protocols and OPENFLOW not in protocols:
            spoken = ",".join(sorted(protocols))
            mend = f"ovs-vsctl set bridge {bridge} protocols={spoken},{OPENFLOW}"
            return f"bridge {bridge} speaks {spoken} only; {mend}"
    return ""
