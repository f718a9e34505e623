"""An owner's nexthops, groups and routes in the kernel, with the gateways they lead to: read, changed, listened for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.gateways import GatewayWatch
from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets.linux.change import change
from anabranch.deploy.targets.linux.observe import NEXTHOPS, PROTOCOL, LinuxState, Observed, first_number, read
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class Look:
    """One reading of a kernel."""

    state: LinuxState
    silent: frozenset[Hop] = frozenset()
    """Hops whose gateway has failed to answer, and has not answered since."""


class OwnRoutes:
    """The owner's part of the kernel of the namespace that the thread is in that makes this; a context.

    Args:
        owner: whose part, 0 to 255.
        hops: hops whose gateways are watched.

    """

    def __init__(self, owner: int, hops: Collection[Hop]) -> None:
        self._owner = owner
        self._watch = GatewayWatch(hops)
        with ExitStack() as stack:
            self._connection = stack.enter_context(Connection())
            self._announcements = stack.enter_context(Announcements(PROTOCOL, self._watch.addresses))
            self._open = stack.pop_all()

    def __enter__(self) -> OwnRoutes:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def fileno(self) -> int:
        """Descriptor that is readable when a change was announced."""
        return self._announcements.fileno()

    def heard(self) -> bool:
        """Whether a change may have been announced since the last call; it never waits."""
        try:
            return self._announcements.read()
        except OSError:
            # The reading of the kernel that follows says what is wrong.
            return True

    def weight_max(self) -> int:
        """Largest weight that the kernel takes."""
        return kernel.weight_max(self._connection)

    def look(self) -> Look:
        """Reads the owner's part, and which gateways are silent.

        Raises:
            AnabranchError: the kernel does not let it.

        """
        devices = kernel.devices(self._connection)
        self._watch.look(self._connection, {device.name: device for device in devices})
        return Look(read(self._connection, self._owner, devices), frozenset(self._watch.silent))

    def put(self, observed: LinuxState, desired: LinuxState, devices: Mapping[str, Device]) -> int:
        """Brings the kernel from one state to another, whole or not at all; the number of changes.

        Raises:
            AnabranchError: a device is missing, or the kernel refuses; nothing is changed.

        """
        for number, one in desired.nexthops.items():
            if observed.nexthops.get(number) != one and not one.hop.drops and one.hop.device not in devices:
                raise AnabranchError(f"nexthop {number:#x} {one.hop}: no such device now; nothing is changed")
        difference = change(Observed(self._connection, self._owner, observed, devices), desired)
        difference.commit()
        return len(difference)

    def counted(self) -> dict[int, dict[int, int]]:
        """Packets that each of the owner's groups has sent to each nexthop since it was written, by their numbers.

        Empty where the kernel does not count them.

        Raises:
            AnabranchError: the kernel does not let it.

        """
        first = first_number(self._owner)
        packets = kernel.group_packets(self._connection)
        return {number: counts for number, counts in packets.items() if first <= number < first + NEXTHOPS}

    def ask(self, devices: Mapping[str, Device]) -> None:
        """Has the kernel ask the silent gateways again."""
        self._watch.ask(self._connection, devices)
