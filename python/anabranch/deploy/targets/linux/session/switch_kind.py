"""Linux kernels that route as switches of a fabric file."""

from __future__ import annotations

from typing import Any

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.kernel_namespace import NamespaceSessions, by_namespace
from anabranch.deploy.control.namespace_session import needs_of
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import SwitchKind
from anabranch.deploy.service.needs import INTERNET, NETLINK, Needs
from anabranch.deploy.targets.linux.session import keys as session_keys
from anabranch.deploy.targets.linux.session.kernel_routes import RoutesSession
from anabranch.deploy.targets.linux.session.keys import RoutesKeys
from anabranch.deploy.targets.linux.session.remote_kernel import AgentNamespace
from anabranch.deploy.targets.linux.session.routes import RoutesForwarding
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

TARGET = "linux"


class KernelRoutes(SwitchKind[Any]):
    """Kind of switch: the routes of a kernel, in a namespace of this machine or behind an agent of another."""

    target = TARGET
    datapath = "linux"
    noun = "a Linux kernel that routes"
    has_arbiter = True
    page = "control.md#linux-kernels"
    example = 'gateways.NEIGHBOUR = "10.9.1.2"'

    def keys(self, settings: Settings, switch: str) -> RoutesKeys:
        """Namespace, gateways, and how groups are made."""
        del switch
        return session_keys.read(settings)

    def check(self, fabric: FabricFile) -> None:
        """Every link to a switch has its gateways, and no agent serves two controllers of one fabric."""
        for switch in fabric.switches_of(self.target):
            session_keys.check(fabric, switch)
            if fabric.takeover_s is not None and switch.keys.agent:
                problem = f"{switch.name} is behind an agent, which takes changes of any controller"
                raise AnabranchError(f"{fabric.file}: redundancy.use: true: {problem}; leave it out")

    def forwarding(self, fabric: FabricFile) -> RoutesForwarding:
        """A group for each leaf and each host, and IP version."""
        return RoutesForwarding(fabric)

    def needs(self, fabric: FabricFile) -> Needs:
        """Rights to change a kernel's routes, and to enter its namespace; of one behind an agent, its connection."""
        here = [not switch.keys.agent for switch in fabric.switches_of(TARGET)]
        needs = NETLINK | needs_of(fabric, TARGET) if any(here) else Needs()
        return needs if all(here) else needs | INTERNET

    def attend(self, surroundings: Surroundings) -> NamespaceSessions:
        """Kernels in each of their namespaces, and behind each of their agents."""
        switches = surroundings.fabric.switches_of(TARGET)
        sessions = [RoutesSession(switch, surroundings) for switch in switches]
        here = [session for session in sessions if not session.keys.agent]
        elsewhere = [AgentNamespace(session, surroundings) for session in sessions if session.keys.agent]
        return NamespaceSessions([*by_namespace(here, surroundings), *elsewhere])


KIND = KernelRoutes()
"""The kind of switch that the controller takes (`control.switch_kind`)."""
