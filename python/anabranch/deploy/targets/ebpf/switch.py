"""A datapath in the kernel as a switch: one scheme's program at the ingress of all its ports, found again or made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch import _core
from anabranch.deploy.targets.ebpf import datapath as ebpf_datapath

HOOK = "ingress"
"""XDP would be sooner, but what it redirects passes no queue, and links would have no rate."""
FORBIDDEN = "./+"
"""In names: what the BPF file system does not take, and what has a meaning here."""


@dataclass(frozen=True)
class Forwarding:
    """The shape of a datapath that forwards by destination from all ports of a switch."""

    scheme: str
    groups: tuple[_core.KernelGroup, ...]
    ports: frozenset[int]

    @property
    def kernel_groups(self) -> list[_core.KernelGroup]:
        """Groups that it forwards by."""
        return list(self.groups)

    @property
    def attached(self) -> tuple[tuple[int, str], ...]:
        """All ports, at their hook."""
        return tuple((port, HOOK) for port in sorted(self.ports))

    @property
    def group_capacity(self) -> int:
        """Room for what there is: a fabric that grows gets another datapath."""
        return max(1, len(self.groups))

    @property
    def route_capacity(self) -> int:
        """The same for prefixes; never 0, which would take all packets."""
        return max(1, sum(len(group.prefixes) for group in self.groups))


def stand(
    folder: Path,
    scheme: str,
    groups: Sequence[_core.KernelGroup],
    ports: Iterable[int],
    tables: Mapping[str, bytes] | None = None,
) -> _core.KernelDatapath:
    """Has the datapath of a folder forward by these groups from these ports (by interface number) on, and no others.

    What stands there keeps forwarding until all is in place. Groups that are new to the kernel go on from `tables`.

    Raises:
        AnabranchError: the kernel refuses, or a group is none.

    """
    desired = Forwarding(scheme, tuple(groups), frozenset(ports))
    changed = ebpf_datapath.change(folder, ebpf_datapath.opened(folder), desired, tables)
    assert changed is not None
    return changed.datapath


def find(folder: Path) -> _core.KernelDatapath | None:
    """The datapath of a folder, after what a process that was killed has left of a change.

    Raises:
        AnabranchError: what is there is none, or the privilege to look lacks.

    """
    ebpf_datapath.finish(folder)
    return _core.KernelDatapath.open(folder)


def has_room(present: _core.KernelDatapath, scheme: str, groups: Sequence[_core.KernelGroup]) -> bool:
    """Whether a datapath is of this scheme and can take these groups."""
    return ebpf_datapath.fits(ebpf_datapath.described(present), Forwarding(scheme, tuple(groups), frozenset()))


def ports_of(present: _core.KernelDatapath) -> frozenset[int]:
    """Interfaces that a datapath is attached to, as a switch is."""
    return frozenset(port for port, hook, alive in present.attachments() if hook == HOOK and alive)
