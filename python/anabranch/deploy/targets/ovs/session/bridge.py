"""One bridge: reached and reached again, read, and brought to its plan by the least that has to change."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from anabranch.deploy.control.ending import end
from anabranch.deploy.control.fabric import SwitchFile
from anabranch.deploy.control.policy import PlannedGroup
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.control.state import PRIMARY, SECONDARY
from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.error import Disconnected, ProtocolError, Refused
from anabranch.deploy.openflow.packet_codec import PacketIn
from anabranch.deploy.openflow.port import Port
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.ownership import COOKIE_MASK, Ownership
from anabranch.deploy.targets.ovs.session.candidacy import NOT_PRIMARY, Candidacy, Election
from anabranch.deploy.targets.ovs.session.kept_splits import KeptSplits
from anabranch.deploy.targets.ovs.session.keys import BridgeKeys
from anabranch.deploy.targets.ovs.session.rules import LISTENING_COOKIE
from anabranch.deploy.targets.ovs.shares import Shares
from anabranch.deploy.targets.ovs.slices import COOKIE, COOKIE_OF_SLICES_MASK
from anabranch.files.errors import AnabranchError

TIMEOUT_S = 5.0
"""Timeout of each answer of a switch."""
PROBE_S = 2.0
"""Timeout of an answer of a switch while another connection claims to be it."""


class BridgeSession(Session[Tables]):
    """The controller's side of one switch that speaks OpenFlow."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings, election: Election | None = None) -> None:
        """Is not connected yet; without an election, no other controller may change the bridge."""
        super().__init__(switch, surroundings)
        self._candidacy = Candidacy(switch.name, election, self._role_changed) if election else None
        self.keys: BridgeKeys = switch.keys
        self._ownership = Ownership(surroundings.fabric.owner)
        self._tls = surroundings.fabric.tls
        self._counted = (self._ownership.cookie | COOKIE, COOKIE_OF_SLICES_MASK) if surroundings.counts_rules else None
        """Cookie and mask of the rules whose counters are read."""
        self._shares = Shares()
        self._missed: list[tuple[Port, str]] | None = None
        """Changes of ports while the ports are being described."""
        self._takes_over = False
        """Whether it has become the primary and not read the tables since."""
        self._connection: Connection | None = None
        self._kept = KeptSplits(switch, surroundings, self._ownership)

    @property
    def role(self) -> str:
        """Role at the bridge; empty where no other controller may change it."""
        if self._candidacy is None:
            return ""
        return PRIMARY if self._candidacy.leads else SECONDARY

    @property
    def history(self) -> Tables | None:
        """Its tables, with the slots that the file has and the bridge has lost."""
        return None if self._observed is None else self._kept.history(self._observed)

    def desired(self) -> Tables | None:
        """The tables of the plan."""
        tables: Tables | None = None if self.plan is None else self.plan.desired
        return tables

    def change(self) -> TablesChange | None:
        """The change from switch to plan; `None` while either is not known."""
        desired = self.desired()
        if desired is None or self._observed is None:
            return None
        return TablesChange.between(self._observed, desired)

    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """Bytes by OpenFlow port over the last measured interval, of a planned group."""
        counted = Counter[int]()
        for group_id in planned.counted:
            counted.update(self._shares.of(group_id))
        return counted

    async def run(self) -> None:
        """Keeps a connection to a switch that listens."""
        while True:
            try:
                connection = await connect(self.keys.openflow, self._tls, TIMEOUT_S)
            except AnabranchError as error:
                self.failed(error)
            else:
                await self.welcome(connection)
            await asyncio.sleep(self._backoff.next_s())

    async def welcome(self, connection: Connection) -> None:
        """Serves a connection until it ends.

        One that says it is a switch that is connected and answers is a stranger.
        """
        if self._connection is not None and await _answers(self._connection):
            datapath_id = f"{connection.datapath_id:016x}"
            problem = "another connection has this datapath_id and answers"
            self.events.report("stranger", self.name, datapath_id=datapath_id, peer=connection.peer, error=problem)
            connection.close()
            return
        try:
            await self._attend(connection)
        except AnabranchError as error:
            self.failed(error)
        except Exception as error:
            self.mistaken(error)

    async def _attend(self, connection: Connection) -> None:
        """Serves one connection until it ends.

        Raises:
            AnabranchError: the switch is another one, or it does not answer as it must.

        """
        name, given = self.name, self.keys.datapath_id
        if given is not None and connection.datapath_id != given:
            connection.close()
            datapath_id = f"{connection.datapath_id:016x}"
            raise AnabranchError(
                f"{name}: datapath_id: {datapath_id}: not the {given:016x} of the file; correct either"
            )
        if self._connection is not None:
            # The switch restarted before we noticed its end.
            self._connection.close()
        self._connection = connection
        try:
            await self._begin(connection)
            work = [self._follow(connection), self._measure(connection), connection.wait_closed()]
            work += [self._candidacy.run(connection)] if self._candidacy else []
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
                if self._candidacy is not None:
                    self._candidacy.end()
                self._end(reason)

    async def _begin(self, connection: Connection) -> None:
        """Reads all there is to know of the switch."""
        if self._candidacy is not None:
            await self._candidacy.begin(connection)
        await asyncio.to_thread(self._kept.read)
        missed: list[tuple[Port, str]] = []
        self._missed = missed
        connection.on_port_status = self._port_status
        connection.on_packet_in = self._packet_in
        ports = await connection.described_ports()
        self._missed = None
        before = self.network.openflow_ports(self.name)
        self.network.described(self.name, ports)
        for port, how in missed:
            self.network.port_status(self.name, port, how)
        tables = await self._read(connection)
        if self.network.openflow_ports(self.name) != before:
            # The plan's port numbers mean other ports now, and one made since knew no slots under the new numbers.
            self.plan = None
        self.record.datapath_id = connection.datapath_id
        counts = {kind: len(getattr(tables, kind)) for kind in ("flows", "groups", "meters")}
        self._connected(tables, datapath_id=f"{connection.datapath_id:016x}", **counts)
        if self.may_change:
            self.wiring.expect(self.name)
        self._wake.set()
        self.changed()

    def _role_changed(self, leads: bool, why: str) -> None:
        """Has a new primary read the tables, and another do nothing more."""
        self.events.report("primary" if leads else "secondary", self.name, reason=why)
        if leads:
            self.wiring.expect(self.name)
        else:
            self.wiring.away(self.name)
        self._takes_over = leads
        self._wake.set()

    def _end(self, reason: str) -> None:
        """Forgets what was measured, too."""
        self._shares.forget()
        self.wiring.away(self.name)
        self.network.unmeasured(self.name)
        self._lost(reason)

    async def _read(self, connection: Connection) -> Tables:
        flows = await connection.flows(self._ownership.cookie, COOKIE_MASK)
        return self._ownership.own(flows, await connection.groups(), await connection.meters())

    async def _follow(self, connection: Connection) -> None:
        """Brings the switch to whatever is wanted, and looks from time to time whether it still is there."""
        read = True
        while True:
            self._wake.clear()
            if self._takes_over:
                # The primary of before has changed them since they were read, and can do so no more.
                self._takes_over = False
                self._observed, self._refused, read = await self._read(connection), None, True
            await self._reconcile(connection, read)
            await self._keep()
            self._listen(connection)
            read = await self._rest() and await self._audit(connection)

    def _listen(self, connection: Connection) -> None:
        """Lets cables be checked while the rules are in place that pass frames on."""

        def send(port: int, frame: bytes) -> None:
            number = self.network.number(port)
            if number is not None:
                connection.send_packet(number, frame)

        if not self.may_change:
            return
        flows = self._observed.flows if self._observed is not None else ()
        if any(flow.cookie == self._ownership.cookie | LISTENING_COOKIE for flow in flows):
            self.wiring.ready(self.name, send)
        else:
            self.wiring.away(self.name)
            self.wiring.expect(self.name)

    def _packet_in(self, packet: PacketIn) -> None:
        if packet.cookie == self._ownership.cookie | LISTENING_COOKIE:
            port = self.network.port(self.name, packet.in_port)
            if port is not None:
                self.wiring.hears(port, packet.frame)

    async def _audit(self, connection: Connection) -> bool:
        """Reads the tables; answers whether they were not what we thought."""
        observed = await self._read(connection)
        if self._wake.is_set() or observed == self._observed:
            return False
        if self.may_change:
            self._drifted(len(TablesChange.between(self._observed or Tables(), observed)))
        self._observed, self._refused = observed, None
        return True

    async def _reconcile(self, connection: Connection, read: bool) -> None:
        """Commits differences until there are none. `read`: what is installed was just read, not concluded.

        What was read while somebody else was changing it is of no one moment: what the switch then says or holds is
        believed only of a reading that came after it.
        """
        again = False
        while self.commits and self.may_change and (desired := self.desired()) is not None and desired != self._refused:
            since_s, self._since_s = self._since_s, None
            difference = self.change()
            if not difference:
                return
            begun_s = time.monotonic()
            try:
                await connection.commit(difference.mods)
            except (Disconnected, ProtocolError):
                raise
            except AnabranchError as error:
                if self._candidacy and isinstance(error, Refused) and error.error.name == NOT_PRIMARY:
                    self._candidacy.refused()
                    return
                # The switch refused the change, or OpenFlow cannot express it.
                before, self._observed = self._observed, await self._read(connection)
                if again or self._observed == before:
                    self._refuse(desired, str(error))
                    return
                again = read = True
                continue
            self._observed = desired
            self._committed(len(difference), begun_s, since_s)
            await self._keep()
            if read:
                # Some switches confirm a change and do not keep it; reading again shows that.
                self._observed = await self._read(connection)
                if again and self._observed != desired:
                    left = len(TablesChange.between(self._observed, desired))
                    self._refuse(desired, f"{left} changes were confirmed and are not in its tables")
                    return
                read = again = self._observed != desired

    async def _keep(self) -> None:
        """Has the file keep what the bridge holds."""
        if self._observed is not None and self.commits:
            await self._keeping(asyncio.to_thread(self._kept.keep, self._observed))

    async def _measure(self, connection: Connection) -> None:
        """Reads counters, each switch at moments of its own."""
        rest_s = self.interval_s * self._random.uniform(0.5, 1.5)
        while True:
            counters = await connection.port_counters()
            self.network.measured(self.name, counters)
            if self._observed is not None:
                self._shares.measured(self._observed.groups, await connection.bucket_counters())
            if self._counted is not None:
                self.network.rules.measured(self.name, await connection.flow_counters(*self._counted))
            await asyncio.sleep(rest_s)
            rest_s = self.interval_s

    def _port_status(self, port: Port, how: str) -> None:
        if self._missed is not None:
            # The description may have this already or not; the last message on each port is right in any case.
            self._missed.append((port, how))
            return
        before = self.network.openflow_ports(self.name)
        if self.network.port_status(self.name, port, how) or self.network.openflow_ports(self.name) != before:
            self.changed()

    def _address(self) -> str:
        """Its address of OpenFlow; empty if it comes to us."""
        return self.keys.openflow

    def _counts(self) -> tuple[int, int, int]:
        """Rules, groups and meters in its tables."""
        tables = self._observed or Tables()
        return len(tables.flows), len(tables.groups), len(tables.meters)

    def close(self) -> None:
        """Ends the connection and leaves the switch's tables as they are."""
        super().close()
        if self._candidacy is not None:
            self._candidacy.end(self._connection)
        if self._connection is not None:
            self._connection.close()


async def _answers(connection: Connection) -> bool:
    """Whether there is still somebody."""
    try:
        await asyncio.wait_for(connection.barrier(), PROBE_S)
    except (AnabranchError, asyncio.TimeoutError):
        return False
    return True
