"""The routes of one kernel, kept at the plan by the fewest steps, and followed as the kernel announces changes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from anabranch.deploy.control.fabric import SwitchFile
from anabranch.deploy.control.gateway_keys import VERSIONS
from anabranch.deploy.control.namespace_session import NamespaceSession
from anabranch.deploy.control.policy import PlannedGroup
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.netlink.gateways import AGAIN_S, Retry
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets.linux.change import lines, steps
from anabranch.deploy.targets.linux.desired import desired
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.own_routes import OwnRoutes
from anabranch.deploy.targets.linux.plan_file import LinuxPlan
from anabranch.deploy.targets.linux.session.flushed import flushed, swept
from anabranch.deploy.targets.linux.session.keys import RoutesKeys, hop
from anabranch.deploy.targets.linux.session.packet_shares import PacketShares
from anabranch.deploy.targets.linux.session.routes import group_name
from anabranch.deploy.targets.linux.session.routing_kernel import LocalKernel, RoutingKernel, UnreachableError
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class RoutesChange:
    """The change from the routes of a kernel to those of the plan; false if there is none."""

    old: LinuxState
    new: LinuxState

    def __len__(self) -> int:
        return len(steps(self.old, self.new))

    def lines(self, port_names: Mapping[int, str] | None = None) -> list[str]:
        """A line per change. Nexthops name their devices themselves."""
        del port_names
        return lines(steps(self.old, self.new), self.old, self.new)


class RoutesSession(NamespaceSession[LinuxState]):
    """The controller's side of one kernel that routes."""

    unit = "packets"

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Has not looked yet."""
        super().__init__(switch, surroundings)
        self.keys: RoutesKeys = switch.keys
        self.forwards_unreached = bool(self.keys.agent)
        self.owner = surroundings.fabric.owner
        self.hops = frozenset(hop(switch, end, version) for end in switch.interfaces for version in VERSIONS)
        """All hops that a plan may have."""
        self.kernel: RoutingKernel
        """The kernel, while it is in reach."""
        self._file = surroundings.fabric.file
        self._retry = Retry()
        self._shares = PacketShares()
        self._silent: frozenset[Hop] = frozenset()
        """Hops whose gateway has failed to answer, and has not answered since."""
        self._numbers = {name: number for number, name in enumerate(switch.interfaces.values(), start=1)}
        self._devices: Mapping[str, Device] = {}
        self._died: set[str] = set()
        """Devices that could carry nothing at some moment since the kernel was last read."""
        self._overwritten = LinuxState()
        """State over which the kernel took what is planned, since it was last read."""
        self._news = False
        """Whether the kernel may hold something else than was last read."""
        self._pauses_until_s = 0.0
        """Moment until which news is left unread: somebody undoes what was just put back."""
        self._audits_at_s = 0.0
        self._weight_max = 0
        self._aimed: tuple[tuple[object, ...], LinuxState] | None = None
        """What the desired state was last made of, and that state."""

    def enter(self, stack: ExitStack) -> None:
        """Opens netlink."""
        self.kernel = LocalKernel(stack.enter_context(OwnRoutes(self.owner, self.hops)), self.call)

    def number(self, device: Device) -> int:
        """The position of the interface among those of the file: a device that is made anew keeps it."""
        return self._numbers[device.name]

    def follow(self, present: Mapping[str, Device], died: frozenset[str]) -> None:
        """Takes its interfaces; with those that died the kernel has removed nexthops."""
        self._devices = present
        self._died |= {name for name in self._numbers if name in died or not _can_carry(present.get(name))}
        self._since_s = self._since_s or time.monotonic()
        self._hear()

    def is_silent(self, interface: str) -> bool:
        """Whether a gateway by this interface has failed to answer, and has not answered since."""
        return any(hop.device == interface for hop in self._silent)

    def desired(self) -> LinuxState | None:
        """The plan's nexthops, groups and routes, but for devices and gateways of our own that died."""
        if self.plan is None or self._observed is None:
            return None
        known = self.plan, self._observed, self._devices, self._silent
        if self._aimed is None or self._aimed[0] != known:
            plan = LinuxPlan(self._file, self.owner, self.plan.desired)
            aim = desired(plan, self._observed, self._devices, self._weight_max, self._silent, drops=True)
            self._aimed = known, aim.state
        return self._aimed[1]

    def change(self) -> RoutesChange | None:
        """The change from kernel to plan; `None` while either is not known."""
        observed, aim = self._observed, self.desired()
        return RoutesChange(observed, aim) if observed is not None and aim is not None else None

    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """Packets by port over the last measured interval, of a planned group."""
        if self.plan is None or self._observed is None:
            return Counter()
        names = {group_name(planned.leaf, version) for version in VERSIONS}
        packets = self._shares.of([one for one in self.plan.desired if one.name in names], self._observed)
        return Counter({self._numbers[device]: count for device, count in packets.items() if device in self._numbers})

    async def measure(self) -> None:
        """Reads the packets that groups have sent."""
        try:
            self._shares.measured(await self.kernel.counted())
        except UnreachableError:
            raise
        except AnabranchError as error:
            self.events.report("measurement-failed", self.name, error=str(error))

    async def attend(self) -> None:
        """Follows the plan as links, gateways and what others do to the routes are announced."""
        self.kernel.follow(self._hear)
        try:
            self._weight_max = await self.kernel.weight_max()
            self._news = False
            look = await self.kernel.look()
            self._silent = look.silent
            self._connected(look.state, routes=len(look.state.routes))
            self._put_off_audit()
            self.describe()
            self.changed()
            while True:
                self._wake.clear()
                await self._catch_up()
                await self._reconcile()
                await self._rest_until_due()
        finally:
            self.kernel.unfollow()
            self._shares.forget()
            self._lost()

    def _hear(self) -> None:
        self._news = True
        self._wake.set()

    async def _catch_up(self) -> None:
        """Reads the kernel where it may hold something else, and asks silent gateways again when that is due."""
        now_s = time.monotonic()
        if now_s >= self._audits_at_s:
            self._news, self._refused = True, None
            self._put_off_audit()
        if self._waits and self._retry.due():
            # What was refused may be possible by now: no announcement says so.
            self._news, self._refused = True, None
            if self.commits:
                await self.kernel.ask(self._devices)
        if not self._news or now_s < self._pauses_until_s:
            return
        self._news = False
        before = self._observed or LinuxState()
        look = await self.kernel.look()
        # Devices that had died when the kernel was read have been announced by now.
        self.read_links()
        observed = flushed(look.state, self._died)
        left = flushed(before, self._died)
        gone = swept(self._overwritten, self._died) - observed.routes.keys()
        left = replace(left, routes={key: route for key, route in left.routes.items() if key not in gone})
        foreign, self._overwritten = steps(left, observed), LinuxState()
        self._died = {name for name in self._numbers if not _can_carry(self._devices.get(name))}
        silent, self._silent = self._silent, look.silent
        self._observed = observed
        if foreign:
            self._drifted(len(foreign))
            self._pauses_until_s = time.monotonic() + AGAIN_S
        if silent != self._silent and self.describe():
            self.changed()

    async def _reconcile(self) -> None:
        """Has the kernel take what is planned, as often as it is not that."""
        while self.commits:
            observed, aim = self._observed, self.desired()
            if observed is None or aim is None or aim == self._refused or not steps(observed, aim):
                return
            since_s, self._since_s = self._since_s, None
            begun_s, self._overwritten = time.monotonic(), observed
            try:
                count = await self.kernel.put(observed, aim, self._devices)
            except UnreachableError:
                raise
            except AnabranchError as error:
                self._refuse(aim, str(error))
                self._hear()
                return
            self._observed = aim
            self._committed(count, begun_s, since_s)

    async def _rest_until_due(self) -> None:
        """Waits for news, another plan, or until it is time to audit or to try again."""
        now_s = time.monotonic()
        times = [self._audits_at_s - now_s]
        if self._waits:
            times.append(self._retry.wait_s)
        if self._news:
            self._wake.clear()
            times.append(self._pauses_until_s - now_s)
        try:
            await asyncio.wait_for(self._wake.wait(), max(0.0, min(times)))
        except asyncio.TimeoutError:
            return

    @property
    def _waits(self) -> bool:
        """Whether something may become possible without an announcement."""
        return bool(self._silent) or self._refused is not None

    def _put_off_audit(self) -> None:
        # Switches are audited at different times.
        self._audits_at_s = time.monotonic() + self.audit_s * self._random.uniform(0.75, 1.25)

    def _address(self) -> str:
        """Its agent or namespace."""
        if self.keys.agent:
            return f"linux at {self.keys.agent}"
        return "linux" + (f" in {self.keys.namespace}" if self.keys.namespace else "")

    def _counts(self) -> tuple[int, int, int]:
        """Routes and groups; there are no meters."""
        observed = self._observed or LinuxState()
        return len(observed.routes), len(observed.groups), 0


def _can_carry(device: Device | None) -> bool:
    return device is not None and lives(device)
