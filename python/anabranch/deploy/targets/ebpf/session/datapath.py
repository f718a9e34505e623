"""One datapath in the kernel: found or made, and brought to its plan by the least that has to change."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from anabranch import _core
from anabranch.deploy.control.fabric import Network, SwitchFile
from anabranch.deploy.control.kept_tables import KeptTables
from anabranch.deploy.control.kernel_namespace import OWN
from anabranch.deploy.control.namespace_session import NamespaceSession
from anabranch.deploy.control.policy import PlannedGroup
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.ebpf import switch as datapath
from anabranch.deploy.targets.ebpf.desired import unforwarded
from anabranch.deploy.targets.ebpf.folder import own_folder, require_file_system
from anabranch.deploy.targets.ebpf.forwarding_watch import ForwardingWatch
from anabranch.deploy.targets.ebpf.plan_file import ROUTE
from anabranch.deploy.targets.ebpf.session.groups import Groups, group_names, routed, without
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys
from anabranch.deploy.targets.ebpf.session.neighbours import Neighbours
from anabranch.deploy.targets.ebpf.state_form import FORM
from anabranch.deploy.targets.ebpf.unrouted import without_route
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class GroupsChange:
    """Groups that are not as they should be, by what they were and are to be; false if there are none."""

    changes: tuple[tuple[_core.KernelGroup | None, _core.KernelGroup | None], ...]
    attached: frozenset[int]
    """Interfaces that the program is not at and should be."""
    detached: frozenset[int]
    """Interfaces that it is at and should not be."""

    def __bool__(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        return len(self.changes) + len(self.attached) + len(self.detached)

    def lines(self, port_names: Mapping[int, str] | None = None) -> list[str]:
        """A line per change, as those of a bridge."""
        names = port_names or {}
        rows = []
        for sign, ports in (("-", self.detached), ("+", self.attached)):
            rows += [f"{sign} {datapath.HOOK} of {names.get(port, port)}" for port in sorted(ports)]
        for old, new in self.changes:
            signs = ("~-", "~+") if old is not None and new is not None else ("-", "+")
            rows += [f"{sign} {_text(one, names)}" for sign, one in zip(signs, (old, new), strict=True) if one]
        return rows


class DatapathSession(NamespaceSession[Groups]):
    """The controller's side of one datapath in the kernel."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Has not looked yet."""
        super().__init__(switch, surroundings)
        self.keys: DatapathKeys = switch.keys
        self._neighbours: Neighbours | None = None
        """Those that it routes to; None where it redirects, and before it was looked at."""
        self._devices: Mapping[str, Device] = {}
        """Its interfaces that are there, by name."""
        self._dead: frozenset[int] = frozenset()
        """Interfaces of this switch that have no carrier."""
        self._ports: frozenset[int] = frozenset()
        """All that are there."""
        self._attached: frozenset[int] = frozenset()
        """Those that the program is at."""
        self._datapath: _core.KernelDatapath | None = None
        self._folder: Path | None = None
        self._bytes: dict[str, dict[int, int]] = {}
        """Since they came, by group and interface."""
        self._sizes: dict[str, dict[int, int]] = {}
        """The same over the last measured interval."""
        self._tables = KeptTables(self.keys.state, FORM)
        self._unrouted = ForwardingWatch()
        """Prefixes that are routed, and that the kernel has no route to."""
        self._compared: tuple[tuple[object, ...], GroupsChange | None] | None = None
        """The states that were compared last, and the change between them."""

    def enter(self, stack: ExitStack) -> None:
        """Finds the folder of its pins; opens netlink where there are neighbours to be watched."""
        require_file_system()
        self._folder = own_folder() / self.name
        if self.keys.gateways:
            self._neighbours = Neighbours(self.switch, self.keys.gateways, stack)

    def number(self, device: Device) -> int:
        """The kernel's number of the interface."""
        return device.index

    def follow(self, present: Mapping[str, Device], died: frozenset[str]) -> None:
        """Takes which of its interfaces there are, and which have no carrier: those carry nothing from now on."""
        del died
        self._devices = present
        self._take_ports(
            frozenset(device.index for device in present.values()),
            frozenset(device.index for device in present.values() if not lives(device)),
        )

    def _take_ports(self, present: frozenset[int], dead: frozenset[int]) -> None:
        if present != self._ports:
            # The plan's interface numbers mean other interfaces now.
            self.plan = None
        if (present, dead) != (self._ports, self._dead):
            if self._ports:
                self._since_s = self._since_s or time.monotonic()
            self._ports, self._dead = present, dead
            self._wake.set()

    def is_silent(self, interface: str) -> bool:
        """Whether a gateway by this interface has failed to answer, and has not answered since."""
        return self._neighbours is not None and interface in self._neighbours.silent

    def change(self) -> GroupsChange | None:
        """The change from kernel to plan; `None` while either is not known."""
        known = self.plan, self._carrying_nothing(), self._observed, self._ports, self._attached
        if self._compared is None or self._compared[0] != known:
            self._compared = known, self._compare(self.desired(), self._observed)
        return self._compared[1]

    def _compare(self, desired: Groups | None, observed: Groups | None) -> GroupsChange | None:
        if desired is None or observed is None:
            return None
        old, new = {group.name: group for group in observed}, {group.name: group for group in desired}
        names = dict.fromkeys([*old, *new])
        pairs = tuple((old.get(name), new.get(name)) for name in names if not _same(old.get(name), new.get(name)))
        # A datapath without groups needs no interface.
        ports = self._ports if desired or observed else self._attached
        return GroupsChange(pairs, ports - self._attached, self._attached - ports)

    async def attend(self) -> None:
        """Follows the plan."""
        try:
            await self._begin()
            with self._heeding_neighbours():
                while True:
                    self._wake.clear()
                    await self._look_at_neighbours()
                    await self._reconcile()
                    if self._unrouted.is_due:
                        await self._report_unrouted(self._observed or ())
                    if await self._rest():
                        await self._audit()
        finally:
            self._end()

    @contextmanager
    def _heeding_neighbours(self) -> Iterator[None]:
        """Wakes when the kernel announces news of a neighbour that is routed to, or when it is time to judge routes."""
        neighbours = self._neighbours
        if neighbours is None:
            yield
            return

        def heard() -> None:
            if neighbours.announcements.read():
                self._wake.set()

        def heard_of_routes() -> None:
            if neighbours.forwarding.read() and self._unrouted.wait_s is None:
                self._unrouted.heard()
                loop.call_later(self._unrouted.wait_s or 0, self._wake.set)

        loop = asyncio.get_running_loop()
        loop.add_reader(neighbours.announcements.fileno(), heard)
        loop.add_reader(neighbours.forwarding.fileno(), heard_of_routes)
        try:
            yield
        finally:
            loop.remove_reader(neighbours.announcements.fileno())
            loop.remove_reader(neighbours.forwarding.fileno())

    async def _look_at_neighbours(self) -> None:
        """Has links follow what the kernel knows of their gateways; a dry run sends nothing."""
        if self._neighbours is None:
            return
        if await self.call(self._neighbours.look, self._devices, self.commits) and self.describe():
            self.changed()

    async def _rest(self) -> bool:
        """Waits for another plan, or until it is time to audit (`Session._rest`), or to ask a silent neighbour again.

        While one is silent, it is time to audit whenever it is time to ask.
        """
        wait_s = self._neighbours.wait_s if self._neighbours is not None else None
        if wait_s is None:
            return await super()._rest()
        try:
            await asyncio.wait_for(self._wake.wait(), wait_s)
        except asyncio.TimeoutError:
            return True
        return False

    async def measure(self) -> None:
        """Reads the counters of its groups."""
        opened, observed = self._datapath, self._observed
        if opened is None or not observed:
            return
        try:
            counters = await self.call(opened.counters)
        except AnabranchError as error:
            self.events.report("measurement-failed", self.name, error=str(error))
            return
        if observed is not self._observed or len(observed) != len(counters):
            # The groups changed meanwhile: these counters are another plan's.
            return
        now = {
            group.name: {port: size for port, (_, size) in zip(group.targets, members, strict=True)}
            for group, members in zip(observed, counters, strict=True)
        }
        last = {}
        for name, sizes in now.items():
            before = self._bytes.get(name)
            if before is not None and before.keys() == sizes.keys():
                grown = {port: size - before[port] for port, size in sizes.items()}
                last[name] = sizes if min(grown.values(), default=0) < 0 else grown
        self._bytes, self._sizes = now, last

    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """Bytes by interface over the last measured interval, of a planned group."""
        sizes: Counter[int] = Counter()
        for name in group_names(self.switch, planned.leaf):
            sizes.update(self._sizes.get(name, {}))
        return sizes

    def _address(self) -> str:
        """Its scheme and namespace."""
        return f"ebpf:{self.keys.scheme}" + (f" in {self.keys.namespace}" if self.keys.namespace else "")

    def _counts(self) -> tuple[int, int, int]:
        """Prefixes and groups; there are no meters."""
        groups = self._observed or ()
        return sum(len(group.prefixes) for group in groups), len(groups), 0

    async def _begin(self) -> None:
        """Reads all there is to know."""
        if self.commits:
            await self.call(self._tables.read)
        observed, self._attached = await self.call(self._look)
        await self._keep()
        self._connected(observed, groups=len(observed))
        self.describe()
        self._wake.set()
        self.changed()

    def _end(self) -> None:
        """Forgets what only the kernel can say."""
        self._datapath = None
        self._bytes, self._sizes = {}, {}
        self._lost()

    def _look(self) -> tuple[Groups, frozenset[int]]:
        """The groups that the kernel has, and the interfaces that its program is at."""
        folder = self._pinned_at()
        self._datapath = opened = datapath.find(folder) if self.commits else _core.KernelDatapath.open(folder)
        if opened is None or opened.scheme != self.keys.scheme:
            # A datapath of another scheme is replaced as a whole.
            return (), frozenset()
        return tuple(opened.observed()), datapath.ports_of(opened)

    def desired(self) -> Groups | None:
        """The groups that the kernel should have: the plan's, but that dead ports of our own carry nothing."""
        if self.plan is None:
            return None
        groups = without(self.plan.desired, self._carrying_nothing())
        return groups if self._neighbours is None else routed(groups, self._neighbours.by_number(self._devices))

    def _carrying_nothing(self) -> frozenset[int]:
        """Interfaces without a carrier, and those whose neighbour does not answer."""
        silent = self._neighbours.silent if self._neighbours is not None else ()
        return self._dead | {self._devices[name].index for name in silent if name in self._devices}

    async def _audit(self) -> None:
        """Looks whether the kernel still has what we thought, and the program is where it was."""
        before, attached = self._observed or (), self._attached
        observed, self._attached = await self.call(self._look)
        self._observed = observed
        pairs = zip(before, observed, strict=False)
        off = (
            sum(not _same(*pair) for pair in pairs) + abs(len(before) - len(observed)) + len(attached ^ self._attached)
        )
        # The refusal may have been for lack of memory: try again.
        self._refused = None
        if off:
            self._drifted(off)
        await self._keep()

    async def _reconcile(self) -> None:
        """Puts what is wanted until it is there."""
        while self.commits:
            desired, ports, difference = self.desired(), self._ports, self.change()
            if desired is None or not difference or desired == self._refused:
                return
            since_s, self._since_s = self._since_s, None
            begun_s = time.monotonic()
            try:
                self._observed, self._attached = await self.call(self._put, desired, ports)
            except AnabranchError as error:
                self._refuse(desired, str(error))
                self._observed, self._attached = await self.call(self._look)
                return
            self._committed(len(difference), begun_s, since_s)
            await self._keep()
            await self._report_unrouted(desired)
            left = self.change()
            if left and self.desired() == desired and self._ports == ports:
                self._refuse(desired, f"{len(left)} changes were taken and are not there")
                return

    def _put(self, desired: Groups, ports: frozenset[int]) -> tuple[Groups, frozenset[int]]:
        self._refuse_unforwarded(desired)
        opened = self._datapath
        if opened is not None and datapath.has_room(opened, self.keys.scheme, desired):
            opened.put(list(desired), tables=self._tables.by_group)
            if ports == self._attached:
                return tuple(opened.observed()), ports
        with inside(self.keys.namespace or OWN):
            self._datapath = opened = datapath.stand(
                self._pinned_at(), self.keys.scheme, desired, ports, self._tables.by_group
            )
        return tuple(opened.observed()), datapath.ports_of(opened)

    async def _keep(self) -> None:
        """Has the file keep the tables that the kernel has."""
        if self.commits and self._datapath is not None:
            await self._keeping(self.call(self._tables.keep, self._datapath.tables))

    async def _report_unrouted(self, desired: Groups) -> None:
        """Reports prefixes that are routed, and that the kernel has no route to: it forwards none of their packets."""
        self._unrouted.begin()
        prefixes = [ip_network(prefix) for group in desired if group.output == ROUTE for prefix in group.prefixes]
        missing = map(str, await self.call(self._without_route, prefixes) if prefixes else ())
        lost, gained = self._unrouted.judged(missing)
        for kind, some in (("unrouted", lost), ("routed-again", gained)):
            if some:
                self.events.report(kind, self.name, prefixes=", ".join(some))

    def _without_route(self, prefixes: list[Network]) -> list[Network]:
        with inside(self.keys.namespace or OWN):
            return without_route(prefixes)

    def _refuse_unforwarded(self, desired: Groups) -> None:
        """Refuses to route from where the kernel forwards nothing."""
        routing = [group for group in desired if group.output == ROUTE]
        versions = {ip_network(prefix).version for group in routing for prefix in group.prefixes}
        with inside(self.keys.namespace or OWN):
            for problem in unforwarded(self._devices, versions):
                raise AnabranchError(problem)

    def _pinned_at(self) -> Path:
        assert self._folder is not None
        return self._folder


def _same(old: _core.KernelGroup | None, new: _core.KernelGroup | None) -> bool:
    return old is not None and new is not None and _key(old) == _key(new)


def _key(group: _core.KernelGroup) -> tuple[object, ...]:
    """All that is given: turns follow from the weights."""
    members = tuple(zip(group.targets, group.weights, group.up, strict=True))
    ways = group.output, tuple(group.gateways)
    return group.name, tuple(sorted(group.prefixes)), members, ways, group.seed, group.pause_ns


def _text(group: _core.KernelGroup, names: Mapping[int, str]) -> str:
    vias = [f" via {gateway}" for gateway in group.gateways] or [""] * len(group.targets)
    members = zip(group.targets, vias, group.weights, group.up, strict=True)
    ways = [f"{names.get(port, port)}{via}:{weight}" + ("" if up else " down") for port, via, weight, up in members]
    return f"group {group.name} {', '.join(group.prefixes)}: {', '.join(ways)}"
