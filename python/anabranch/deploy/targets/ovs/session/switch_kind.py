"""Bridges of a fabric as the controller follows them: those it reaches, those that come to it, and their databases."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from anabranch.deploy.control import state_key
from anabranch.deploy.control.backoff import Backoff
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import Attended, SwitchKind
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.listener import Listener, serve
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.service.needs import INTERNET, Needs
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.session import keys as session_keys
from anabranch.deploy.targets.ovs.session.bridge import TIMEOUT_S, BridgeSession
from anabranch.deploy.targets.ovs.session.candidacy import Election
from anabranch.deploy.targets.ovs.session.database import Database, DatabaseError, follow
from anabranch.deploy.targets.ovs.session.keys import BridgeKeys
from anabranch.deploy.targets.ovs.session.rules import RECIPES, RulesForwarding
from anabranch.deploy.targets.ovs.session.slices import LEAVES_MAX, RulesSlicing
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

TARGET = "ovs"
OPENFLOW = "OpenFlow15"
UNITS = frozenset({"openvswitch-switch.service", "openvswitch.service"})
"""Units of Open vSwitch: Debian's, and Fedora's."""
SOURCES_MAX = 1000
"""Addresses whose last failed handshake is remembered, so that it is reported once however often it comes again."""


class BridgeSessions(Attended):
    """Bridges that have connected to the controller (`switch_kind.Attended`)."""

    def __init__(self, surroundings: Surroundings) -> None:
        fabric = surroundings.fabric
        self._surroundings, self._address, self._tls = surroundings, fabric.openflow, fabric.tls
        bridges = fabric.switches_of(TARGET)
        takeover_s = fabric.takeover_s if surroundings.commits else None
        election = Election(takeover_s, len(bridges)) if takeover_s else None
        self._bridges = {bridge.name: BridgeSession(bridge, surroundings, election) for bridge in bridges}
        self.sessions = self._bridges
        self._databases_heard = {bridge.keys.ovsdb: False for bridge in bridges if bridge.keys.ovsdb}
        self._handshake_errors: dict[str, str] = {}
        self._server: Listener[Connection] | None = None

    @property
    def heard(self) -> bool:
        """Databases say rates, without which the first plan would soon be another."""
        return super().heard and all(self._databases_heard.values())

    async def open(self) -> None:
        """Listens for bridges that come to us."""
        if self._address:
            self._server = await serve(self._address, self._come, self._tls, on_failure=self._not_introduced)

    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Connections to bridges that listen, and to databases."""
        coroutines: list[Coroutine[Any, Any, object]] = [
            one.run() for one in self._bridges.values() if one.keys.openflow
        ]
        return coroutines + [self._follow_database(address) for address in self._databases_heard]

    def close(self) -> None:
        """Listens no more, and ends all connections."""
        if self._server is not None:
            self._server.close()
        super().close()

    async def closed(self) -> None:
        """Waits until the listener has ended."""
        if self._server is not None:
            await self._server.wait_closed()

    async def _come(self, connection: Connection) -> None:
        """Takes a switch that came to us."""
        self._handshake_errors.pop(_source(connection.peer), None)
        for session in self._bridges.values():
            if not session.keys.openflow and session.keys.datapath_id == connection.datapath_id:
                await session.welcome(connection)
                return
        datapath_id = f"{connection.datapath_id:016x}"
        self._surroundings.events.report("stranger", datapath_id=datapath_id, peer=connection.peer)
        connection.close()

    def _not_introduced(self, peer: str, error: AnabranchError) -> None:
        """Reports one that came and is no switch that can be served; a switch tries again every few seconds."""
        progress = self._surroundings.progress
        progress.handshake_failed_s, progress.handshake_error = time.time(), f"{peer}: {error}"
        source, text = _source(peer), str(error).replace(peer, "")
        if self._handshake_errors.get(source) != text:
            if len(self._handshake_errors) >= SOURCES_MAX:
                self._handshake_errors.clear()
            self._handshake_errors[source] = text
            self._surroundings.events.report("handshake-failed", peer=peer, error=str(error))

    async def _follow_database(self, address: str) -> None:
        """Keeps a connection to one OVSDB, which may be that of many switches."""
        switches = [name for name, session in self._bridges.items() if session.keys.ovsdb == address]
        context = self._tls.context(server=False) if self._tls and address.startswith("ssl:") else None
        backoff, is_reported = Backoff(address), False
        while True:
            try:
                async for database in follow(address, context, TIMEOUT_S):
                    backoff.succeeded()
                    is_reported = False
                    self._take_database(address, switches, database)
            except DatabaseError as error:
                if not is_reported:
                    is_reported = True
                    self._surroundings.events.report("database-lost", error=str(error))
            await asyncio.sleep(backoff.next_s())

    def _take_database(self, address: str, switches: list[str], database: Database) -> None:
        self._databases_heard[address] = True
        if self._surroundings.network.interfaces(switches, database.interfaces.values()):
            self._surroundings.changed()
        for name in switches:
            self._bridges[name].hint = _hint(name, database)


class Bridge(SwitchKind[Tables]):
    """Kind of switch: a bridge of Open vSwitch (`switch_kind.SwitchKind`)."""

    target = TARGET
    datapath = "openflow"
    noun = "a bridge"
    example = 'openflow = "unix:/var/run/openvswitch/NAME.mgmt"'
    recipes = RECIPES
    has_arbiter = True

    def keys(self, settings: Settings, switch: str) -> BridgeKeys:
        """Addresses and datapath id."""
        del switch
        return session_keys.read(settings)

    def check(self, fabric: FabricFile) -> None:
        """Every bridge can be reached or known, and is one."""
        session_keys.check(fabric, fabric.switches_of(self.target))

    def forwarding(self, fabric: FabricFile) -> RulesForwarding:
        """Rules and weighted groups."""
        return RulesForwarding(Ownership(fabric.owner), fabric.recipe)

    def slicing(self, fabric: FabricFile) -> RulesSlicing:
        """Rules and meters.

        Raises:
            AnabranchError: group numbers are not enough.

        """
        if fabric.recipe == "multipath" and len(fabric.topology.leaf_index) > LEAVES_MAX:
            problem = f"with slices, group numbers are enough for {LEAVES_MAX} leaves; take hash-gravity"
            raise AnabranchError(f"{fabric.file}: policy.recipe: multipath: {problem}")
        return RulesSlicing(Ownership(fabric.owner))

    def needs(self, fabric: FabricFile) -> Needs:
        """Sockets of this machine's Open vSwitch, which are root's, or connections over the network."""
        keys = [one.keys for one in fabric.switches_of(TARGET)]
        is_near = any(address.startswith("unix:") for one in keys for address in (one.openflow, one.ovsdb))
        return INTERNET | Needs(after=UNITS, as_root=is_near) | state_key.needs(fabric, TARGET)

    def attend(self, surroundings: Surroundings) -> BridgeSessions:
        """Connections over OpenFlow, and to databases."""
        return BridgeSessions(surroundings)


def _source(peer: str) -> str:
    """An address without its port, which is another one each time."""
    return peer.rpartition(":")[0] or peer


def _hint(name: str, database: Database) -> str:
    """Why a bridge of this name will not speak with us, if its database says so."""
    for bridge, protocols in database.protocols.values():
        if bridge == name and protocols and OPENFLOW not in protocols:
            spoken = ",".join(sorted(protocols))
            hint = f"ovs-vsctl set bridge {bridge} protocols={spoken},{OPENFLOW}"
            return f"bridge {bridge} speaks {spoken} only; {hint}"
    return ""


KIND = Bridge()
"""The kind of switch that the controller takes (`control.switch_kind`)."""
