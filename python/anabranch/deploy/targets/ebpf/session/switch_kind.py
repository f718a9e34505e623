"""Datapaths in this machine's kernel as the controller follows them, namespace by namespace."""

from __future__ import annotations

from anabranch.deploy.control import gateway_keys, state_key
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.kernel_namespace import NamespaceSessions, by_namespace
from anabranch.deploy.control.namespace_session import needs_of
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import SwitchKind
from anabranch.deploy.service.needs import Needs
from anabranch.deploy.targets.ebpf.folder import NEEDS
from anabranch.deploy.targets.ebpf.session import keys as session_keys
from anabranch.deploy.targets.ebpf.session.datapath import DatapathSession
from anabranch.deploy.targets.ebpf.session.groups import Groups, GroupsForwarding
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys
from anabranch.files.settings import Settings

TARGET = "ebpf"


class Datapath(SwitchKind[Groups]):
    """Kind of switch: a datapath in this machine's kernel (`switch_kind.SwitchKind`)."""

    target = TARGET
    datapath = "ebpf"
    noun = "a datapath in the kernel"
    has_arbiter = True
    page = "control.md#datapaths-in-the-kernel"
    example = 'gateways.NEIGHBOUR = "10.9.1.2"'

    def keys(self, settings: Settings, switch: str) -> DatapathKeys:
        """Program and namespace."""
        return session_keys.read(settings, switch)

    def check(self, fabric: FabricFile) -> None:
        """Every link of a switch that routes has its gateways, and each switch has a file for its tables of its own."""
        for switch in fabric.switches_of(self.target):
            if switch.keys.gateways:
                gateway_keys.check(fabric, switch, switch.keys.gateways)

    def forwarding(self, fabric: FabricFile) -> GroupsForwarding:
        """A group for each leaf and each host."""
        del fabric
        return GroupsForwarding()

    def needs(self, fabric: FabricFile) -> Needs:
        """Rights to change a kernel's datapaths, and to enter its namespace; the folders of files that keep tables."""
        return NEEDS | needs_of(fabric, TARGET) | state_key.needs(fabric, TARGET)

    def attend(self, surroundings: Surroundings) -> NamespaceSessions:
        """Datapaths in each of their namespaces."""
        switches = surroundings.fabric.switches_of(TARGET)
        sessions = [DatapathSession(switch, surroundings) for switch in switches]
        return NamespaceSessions(by_namespace(sessions, surroundings))


KIND = Datapath()
"""The kind of switch that the controller takes (`control.switch_kind`)."""
