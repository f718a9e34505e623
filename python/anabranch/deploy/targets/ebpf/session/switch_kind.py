"""Datapaths in this machine's kernel as the controller follows them, namespace by namespace."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import Attended, SwitchKind
from anabranch.deploy.targets.ebpf.session import keys as session_keys
from anabranch.deploy.targets.ebpf.session.datapath import DatapathSession
from anabranch.deploy.targets.ebpf.session.groups import Groups, GroupsForwarding
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys
from anabranch.deploy.targets.ebpf.session.namespace import KernelNamespace
from anabranch.files.settings import Settings

TARGET = "ebpf"


class DatapathSessions(Attended):
    """Datapaths that the controller follows, by namespace (`switch_kind.Attended`)."""

    def __init__(self, surroundings: Surroundings) -> None:
        datapaths = {
            switch.name: DatapathSession(switch, surroundings) for switch in surroundings.fabric.switches_of(TARGET)
        }
        self.sessions = datapaths
        self._namespaces = [
            KernelNamespace(
                namespace,
                (session for session in datapaths.values() if session.keys.namespace == namespace),
                surroundings.network,
                surroundings.fabric.interval_s,
            )
            for namespace in dict.fromkeys(session.keys.namespace for session in datapaths.values())
        ]

    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Namespaces with their links, which serve their datapaths."""
        return [namespace.run() for namespace in self._namespaces]


class Datapath(SwitchKind[Groups]):
    """Kind of switch: a datapath in this machine's kernel (`switch_kind.SwitchKind`)."""

    target = TARGET
    datapath = "ebpf"
    noun = "a datapath in the kernel"
    page = "control.md#datapaths-in-the-kernel"

    def keys(self, settings: Settings, switch: str) -> DatapathKeys:
        """Program and namespace."""
        return session_keys.read(settings, switch)

    def forwarding(self, fabric: FabricFile) -> GroupsForwarding:
        """A group for each leaf and each host."""
        del fabric
        return GroupsForwarding()

    def attend(self, surroundings: Surroundings) -> DatapathSessions:
        """Datapaths in each of their namespaces."""
        return DatapathSessions(surroundings)


KIND = Datapath()
"""The kind of switch that the controller takes (`control.switch_kind`)."""
