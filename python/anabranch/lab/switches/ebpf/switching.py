"""A lab's switches as datapaths in the kernel, each at the ingress of all its ends of links."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.deploy.netlink.namespace import NAMED, inside
from anabranch.deploy.targets.ebpf.folder import folder_of, require_file_system
from anabranch.deploy.targets.ebpf.session.groups import seed_of
from anabranch.deploy.targets.ebpf.switch import stand
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric import iproute
from anabranch.lab.fabric.machine import check_machine
from anabranch.lab.fabric.switching import Switching
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf import host_ports, pins

RATE_KEY = "anabranch-rate-bps"
SCHEME = "slots"


@dataclass(frozen=True)
class Towards:
    """How a switch sends to one host or leaf."""

    name: str
    """Name of the host or the leaf, which is the group's."""
    prefixes: tuple[str, ...]
    devices: tuple[str, ...]
    weights: tuple[int, ...]
    up: tuple[bool, ...]
    pause_ns: int = 0


class KernelSwitches(Switching):
    """A lab's switches as datapaths. One without a plan is no datapath yet, and forwards nothing."""

    def check(self) -> None:
        """Refuses what only Open vSwitch has, and names that the BPF file system does not take."""
        refused = {
            "tso": (self._record.tso, "segments pass the kernel's datapaths as the devices make them"),
            "bfd": (self._record.bfd_ms is not None, "the kernel's datapaths speak no protocol"),
        }
        for option, (given, why) in refused.items():
            if given:
                raise AnabranchError(f"--{option}: not with --switch ebpf: {why}; leave it out, or take --switch ovs")
        for switch in self._blueprint.switches:
            if "." in switch:
                raise AnabranchError(
                    f"fabric: node {switch}: a dot in a name is not for the BPF file system; rename it"
                )

    def check_machine(self) -> None:
        """Refuses a machine without a BPF file system; no program is needed."""
        check_machine()
        require_file_system()

    def make(self) -> None:
        """Makes the folder that all of them will be in."""
        pins.claim(self._blueprint.switch_namespace, self._record.mark)

    def add(self, switch: str) -> None:
        """Nothing is there before it is known by which scheme it forwards."""

    def ready(self) -> None:
        """Parts hosts from the network: nothing else is attached before it is known how switches forward."""
        with inside(self._blueprint.switch_namespace):
            host_ports.part(self.folder(host_ports.NAME).parent, self._blueprint)

    def start(self) -> None:
        """The kernel's programs do not end."""

    def ended(self) -> list[str]:
        """No processes: datapaths live in the kernel."""
        return []

    def forward(self, next_hops: Mapping[str, Mapping[str, str]]) -> None:
        """A group of one member for each prefix."""
        for switch, towards in next_hops.items():
            self.put(switch, SCHEME, [Towards(p, (p,), (device,), (1,), (True,)) for p, device in towards.items()])

    def rated(self, device: str, rate_bps: int) -> None:
        """In the device's alias: the one text of a link that the kernel keeps and announces (ip-link(8))."""
        line = f"link set dev {device} alias {RATE_KEY}={rate_bps}"
        iproute.batch("ip", self._blueprint.switch_namespace, [line])

    def policy(self) -> dict[str, Any]:
        """Recipes are of OpenFlow's groups."""
        return {"weights": "capacity"}

    def switch_options(self, switch: str) -> dict[str, Any]:
        """The target and the lab's namespace."""
        del switch
        return {"datapath": "ebpf", "namespace": self._blueprint.switch_namespace}

    def version(self) -> str:
        """The name alone; the version of Linux stands beside it."""
        return "eBPF datapaths"

    def cpu_ns(self) -> int | None:
        """No delay of its own: packets are forwarded in the time of their senders."""
        return None

    def folder(self, switch: str) -> Path:
        """The folder in which a switch's datapath is pinned."""
        return folder_of((NAMED / self._blueprint.switch_namespace).stat().st_ino) / switch

    def datapath(self, switch: str) -> _core.KernelDatapath | None:
        """The datapath of a switch, or `None` if there is none yet."""
        return _core.KernelDatapath.open(self.folder(switch))

    def put(self, switch: str, scheme: str, towards: Iterable[Towards]) -> _core.KernelDatapath:
        """Has a switch forward so, and no other way.

        Raises:
            AnabranchError: the kernel refuses, or knows no such scheme.

        """
        with inside(self._blueprint.switch_namespace):
            groups = [self._group(switch, one) for one in towards]
        return self.stand(switch, scheme, groups)

    def stand(self, switch: str, scheme: str, groups: Sequence[_core.KernelGroup]) -> _core.KernelDatapath:
        """The same of groups that name interfaces by their numbers.

        Raises:
            AnabranchError: as `put`.

        """
        with inside(self._blueprint.switch_namespace):
            ends = [socket.if_nametoindex(end.device) for end, _ in self._blueprint.ports(switch)]
            return stand(self.folder(switch), scheme, groups, ends)

    def clear(self) -> int:
        """Takes all datapaths away, so that nothing is forwarded any more; answers how many there were."""
        datapaths = [one for one in map(self.datapath, self._blueprint.switches) if one is not None]
        for one in datapaths:
            one.remove()
        return len(datapaths)

    @classmethod
    def remove_rest(cls, namespaces: Sequence[str], mark: str) -> None:
        """Takes programs out of the kernel."""
        pins.remove(namespaces, mark)

    @classmethod
    def lost_labs(cls) -> list[str]:
        """Labs with pins of namespaces that have ended."""
        return pins.lost_labs()

    @classmethod
    def remove_lost(cls, name: str) -> bool:
        """Removes such pins."""
        return pins.remove_lost(name)

    def _group(self, switch: str, towards: Towards) -> _core.KernelGroup:
        return _core.KernelGroup(
            name=towards.name,
            prefixes=list(towards.prefixes),
            targets=[socket.if_nametoindex(device) for device in towards.devices],
            weights=list(towards.weights),
            up=list(towards.up),
            output="redirect",
            seed=seed_of(switch),
            pause_ns=towards.pause_ns,
        )


def kernel_switches(lab: Lab) -> KernelSwitches:
    """A lab's datapaths in the kernel.

    Raises:
        AnabranchError: its switches are others.

    """
    if not isinstance(lab.switching, KernelSwitches):
        raise AnabranchError(f"lab {lab.name}: no eBPF datapaths in it; make one with --switch ebpf")
    return lab.switching


SWITCHING = KernelSwitches
"""The class that labs take (`lab.fabric.switching`)."""
