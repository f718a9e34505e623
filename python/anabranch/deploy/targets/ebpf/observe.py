"""The observed datapath of a plan, and the devices that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.deploy.netlink import gateways, kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets.ebpf import datapath
from anabranch.deploy.targets.ebpf.datapath import DatapathState, OpenDatapath
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class Observed:
    """The datapath of a plan at one moment."""

    folder: Path
    """Folder of the datapath, whether it exists or not."""
    datapath: OpenDatapath | None
    """None where there is no whole one."""
    devices: Mapping[str, Device]
    """All of the network namespace, by name."""
    silent: frozenset[Hop] = frozenset()
    """Routed ways whose gateway does not answer."""
    broken: AnabranchError | None = None
    """Why what is there is no whole datapath."""

    @property
    def state(self) -> DatapathState | None:
        """The state of the datapath, if there is one."""
        if self.broken is not None:
            raise self.broken
        return None if self.datapath is None else self.datapath.state

    @property
    def remnant(self) -> bool:
        """Whether there is only what is left of a datapath."""
        return self.datapath is None and datapath.exists(self.folder)


@contextmanager
def observe(
    plan: EbpfPlan,
    *,
    writes: bool,
    devices: Mapping[str, Device] | None = None,
    silent: frozenset[Hop] = frozenset(),
    before: OpenDatapath | None = None,
) -> Iterator[Observed]:
    """The datapath of a plan; nobody else changes one meanwhile.

    Args:
        plan: whose datapath.
        writes: whether it may be changed.
        devices: by name, where they are known.
        silent: routed ways whose gateway does not answer, where devices are known.
        before: what stood after the last time, if nobody else may have changed it since.

    Raises:
        AnabranchError: the privilege is missing, or somebody else has changed what stood before.

    """
    folder = own_folder() / plan.name
    with datapath.locked(make=writes):
        current, broken = before, None
        try:
            current = datapath.opened(folder) if before is None else before.again()
        except AnabranchError as error:
            if before is not None or not datapath.exists(folder):
                raise
            broken = error
        if devices is None:
            devices, silent = devices_and_silent_hops(plan)
        yield Observed(folder, current, devices, silent, broken)


def devices_now() -> dict[str, Device]:
    """All devices of the namespace, by name."""
    with Connection() as connection:
        return {device.name: device for device in kernel.devices(connection)}


def devices_and_silent_hops(plan: EbpfPlan) -> tuple[dict[str, Device], frozenset[Hop]]:
    """All devices of the namespace by name, and the plan's routed ways whose gateway does not answer."""
    devices, hops = devices_now(), plan.hops
    if not hops:
        return devices, frozenset()
    with Connection() as connection:
        return devices, frozenset(gateways.silent(connection, hops, devices))
