"""One datapath in the kernel: found or made, and brought to its plan by the least that has to change."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from anabranch import _core
from anabranch.control.backoff import Backoff
from anabranch.control.event import Events
from anabranch.control.file import KernelFile, SwitchFile
from anabranch.control.log import LOGGER
from anabranch.control.network import Network
from anabranch.control.policy import Plan, PlannedGroup
from anabranch.control.state import SwitchState
from anabranch.errors import AnabranchError
from anabranch.netlink.namespace import inside
from anabranch.targets.ebpf import groups as kernel_rules
from anabranch.targets.ebpf import switch as datapath
from anabranch.targets.ovs.session import Record, Timing

Groups = tuple[_core.KernelGroup, ...]
Result = TypeVar("Result")


@dataclass(frozen=True)
class KernelDifference:
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
        """A line per change, as `deploy.difference.Difference` has them."""
        names = port_names or {}
        found = []
        for sign, ports in (("-", self.detached), ("+", self.attached)):
            found += [f"{sign} {datapath.HOOK} of {names.get(port, port)}" for port in sorted(ports)]
        for old, new in self.changes:
            signs = ("~-", "~+") if old is not None and new is not None else ("-", "+")
            found += [f"{sign} {_text(one, names)}" for sign, one in zip(signs, (old, new), strict=True) if one]
        return found


@dataclass
class KernelSession:
    """The controller's side of one such switch; `session.Session` is that of a switch that speaks OpenFlow."""

    switch: SwitchFile
    kernel: KernelFile
    network: Network
    events: Events
    changed: Callable[[], None]
    """Told when what is known of the switch is not as it was."""
    timing: Timing
    commits: bool = True
    """False: only look."""
    held: Groups | None = None
    """What the kernel has; None while that is not known."""
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        self.wanted: Plan | None = None
        self._since_s: float | None = None
        self._wake = asyncio.Event()
        self._dead: frozenset[int] = frozenset()
        """Interfaces of this switch that have no carrier."""
        self._ports: frozenset[int] = frozenset()
        """All that are there."""
        self._attached: frozenset[int] = frozenset()
        """Those that the program is at."""
        self._refused: Groups | None = None
        """What it was last asked for in vain."""
        self._datapath: _core.KernelDatapath | None = None
        self._folder: Path | None = None
        self._bytes: dict[str, dict[int, int]] = {}
        """Since they came, by group and interface."""
        self._sizes: dict[str, dict[int, int]] = {}
        """The same over the last measured interval."""
        self._differs: tuple[tuple[object, ...], KernelDifference | None] | None = None
        """What was compared last, and what is between."""
        self.found_out: Callable[[], bool] = lambda: False
        """Called when it turned out whether there can be a datapath; answers whether a link changed."""
        self._alone = asyncio.Lock()
        """Of whoever calls the kernel: one at a time may."""
        self._backoff = Backoff(self.switch.name)
        self._random = random.Random(self.switch.name)

    @property
    def name(self) -> str:
        """The switch's."""
        return self.switch.name

    @property
    def heard(self) -> bool:
        """Whether it is known what the kernel has."""
        return self.held is not None

    @property
    def refused(self) -> bool:
        """Whether the kernel has refused what is planned now."""
        return self._refused is not None and self._refused == self._aim()

    def want(self, plan: Plan, since_s: float | None = None) -> None:
        """See `session.Session.want`."""
        if plan is not self.wanted:
            self.wanted = plan
            self._since_s = self._since_s or since_s
            self._wake.set()

    def ports(self, there: frozenset[int], dead: frozenset[int]) -> None:
        """Takes which of its interfaces there are, and which have no carrier: those carry nothing from now on."""
        if there != self._ports:
            # The plan names interfaces by numbers that are others' now.
            self.wanted = None
        if (there, dead) != (self._ports, self._dead):
            if self._ports:
                self._since_s = self._since_s or time.monotonic()
            self._ports, self._dead = there, dead
            self._wake.set()

    def difference(self) -> KernelDifference | None:
        """The change from kernel to plan; `None` while either is not known."""
        known = self.wanted, self._dead, self.held, self._ports, self._attached
        if self._differs is None or self._differs[0] != known:
            self._differs = known, self._compare(self._aim(), self.held)
        return self._differs[1]

    def _compare(self, aim: Groups | None, held: Groups | None) -> KernelDifference | None:
        if aim is None or held is None:
            return None
        old, new = {group.name: group for group in held}, {group.name: group for group in aim}
        names = dict.fromkeys([*old, *new])
        found = tuple((old.get(name), new.get(name)) for name in names if not _same(old.get(name), new.get(name)))
        # A datapath that nothing is wanted of need not be anywhere.
        ports = self._ports if aim or held else self._attached
        return KernelDifference(found, ports - self._attached, self._attached - ports)

    async def serve(self, folder: Path) -> None:
        """Keeps the datapath of a folder at the plan, and tries again where that cannot be."""
        self._folder = folder
        while True:
            try:
                await self._attend()
            except AnabranchError as error:
                self.failed(error)
            except Exception as error:
                # Whatever one datapath can be to find a mistake in here, the others are not to suffer from it.
                self.failed(AnabranchError(f"{self.name}: {error!r}: a mistake of anabranch's; please report it"))
                LOGGER.exception("mistake", extra={"switch": self.name})
            await asyncio.sleep(self._backoff.next_s())

    async def _attend(self) -> None:
        """Follows the plan.

        Raises:
            AnabranchError: the kernel does not let us look.

        """
        try:
            await self._begin()
            while True:
                self._wake.clear()
                await self._reconcile()
                try:
                    await asyncio.wait_for(self._wake.wait(), self.timing.audit_s * self._random.uniform(0.75, 1.25))
                except asyncio.TimeoutError:
                    await self._audit()
        finally:
            self._end()

    async def measure(self) -> None:
        """Reads the counters of its groups."""
        found, held = self._datapath, self.held
        if found is None or not held:
            return
        try:
            counters = await self._call(found.counters)
        except AnabranchError as error:
            self.events.tell("measurement-failed", self.name, error=str(error))
            return
        if held is not self.held or len(held) != len(counters):
            # What was counted is another plan's by now.
            return
        now = {
            group.name: {port: size for port, (_, size) in zip(group.targets, members, strict=True)}
            for group, members in zip(held, counters, strict=True)
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
        return Counter(self._sizes.get(planned.leaf, {}))

    def failed(self, error: AnabranchError) -> None:
        """Tells an error once, however often it comes."""
        if self.record.last_error != str(error):
            self.record.last_error, self.record.changed_s = str(error), time.time()
            self.events.tell("unreachable", self.name, error=str(error))
            if self.found_out():
                self.changed()

    def state(self) -> SwitchState:
        """The switch, for the snapshot."""
        found, record, held = self.difference(), self.record, self.held or ()
        return SwitchState(
            name=self.name,
            address=f"ebpf:{self.kernel.scheme}" + (f" in {self.kernel.namespace}" if self.kernel.namespace else ""),
            connected=record.connected,
            datapath_id=None,
            changed_s=record.changed_s,
            last_error=record.last_error,
            differences=len(found) if found else 0,
            refused=self.refused,
            flows=sum(len(group.prefixes) for group in held),
            groups=len(held),
            meters=0,
            connects=record.connects,
            commits=record.commits,
            changes=record.changes,
            committed_s=record.committed_s,
            commit_duration_s=record.commit_duration_s,
            lost_s=record.lost_s,
        )

    def close(self) -> None:
        """Leaves the kernel forwarding as it does."""
        self.record.connected = False

    async def _call(self, call: Callable[..., Result], *given: object) -> Result:
        """Has a thread call the kernel, which may take a while."""
        async with self._alone:
            return await asyncio.to_thread(call, *given)

    async def _begin(self) -> None:
        """Reads all there is to know."""
        held, self._attached = await self._call(self._look)
        self.held, self._refused = held, None
        self._backoff.succeeded()
        self.record.connected, self.record.changed_s, self.record.last_error = True, time.time(), ""
        self.record.connects += 1
        self.events.tell("connected", self.name, groups=len(held))
        self.found_out()
        self._wake.set()
        self.changed()

    def _end(self) -> None:
        """Forgets what only the kernel can say."""
        self.held = None
        self._datapath = None
        self._bytes, self._sizes = {}, {}
        if self.record.connected:
            self.record.lost()
            self.events.tell("lost", self.name)

    def _look(self) -> tuple[Groups, frozenset[int]]:
        """The groups that the kernel has, and the interfaces that its program is at."""
        place = self._place()
        self._datapath = found = datapath.find(place) if self.commits else _core.KernelDatapath.open(place)
        if found is None or found.scheme != self.kernel.scheme:
            # What another scheme has is to go as a whole.
            return (), frozenset()
        return tuple(found.held()), datapath.ports_of(found)

    def _aim(self) -> Groups | None:
        """The groups that the kernel should have: the plan's, but that dead ports of our own carry nothing."""
        wanted = self.wanted
        return None if wanted is None else kernel_rules.without(wanted.kernel, self._dead)

    async def _audit(self) -> None:
        """Looks whether the kernel still has what we thought, and the program is where it was."""
        before, attached = self.held or (), self._attached
        held, self._attached = await self._call(self._look)
        self.held = held
        pairs = zip(before, held, strict=False)
        off = sum(not _same(*pair) for pair in pairs) + abs(len(before) - len(held)) + len(attached ^ self._attached)
        # What was refused may have been for want of memory.
        self._refused = None
        if off:
            self.events.tell("drifted", self.name, changes=off)

    async def _reconcile(self) -> None:
        """Puts what is wanted until it is there."""
        while self.commits:
            aim, ports, found = self._aim(), self._ports, self.difference()
            if aim is None or not found or aim == self._refused:
                return
            since_s, self._since_s = self._since_s, None
            begun_s = time.monotonic()
            try:
                self.held, self._attached = await self._call(self._put, aim, ports)
            except AnabranchError as error:
                self._refuse(aim, str(error))
                self.held, self._attached = await self._call(self._look)
                return
            ended_s = time.monotonic()
            self.record.commits += 1
            self.record.changes += len(found)
            self.record.committed_s, self.record.commit_duration_s = time.time(), ended_s - begun_s
            self.record.last_error = ""
            lag_s = ended_s - since_s if since_s is not None else None
            self.events.tell("committed", self.name, changes=len(found), duration_s=ended_s - begun_s, lag_s=lag_s)
            left = self.difference()
            if left and self._aim() == aim and self._ports == ports:
                self._refuse(aim, f"{len(left)} changes were taken and are not there")
                return

    def _refuse(self, aim: Groups, error: str) -> None:
        self._refused, self.record.last_error = aim, error
        self.events.tell("refused", self.name, error=error)

    def _put(self, aim: Groups, ports: frozenset[int]) -> tuple[Groups, frozenset[int]]:
        found = self._datapath
        if found is not None and datapath.has_room(found, self.kernel.scheme, aim):
            found.put(list(aim))
            if ports == self._attached:
                return tuple(found.held()), ports
        with inside(self.kernel.namespace or OWN):
            self._datapath = found = datapath.stand(self._place(), self.kernel.scheme, aim, ports)
        return tuple(found.held()), datapath.ports_of(found)

    def _place(self) -> Path:
        assert self._folder is not None
        return self._folder


OWN = "/proc/self/ns/net"
"""The namespace of the process, whatever one of its threads has done."""


def _same(old: _core.KernelGroup | None, new: _core.KernelGroup | None) -> bool:
    return old is not None and new is not None and _key(old) == _key(new)


def _key(group: _core.KernelGroup) -> tuple[object, ...]:
    """All that is given: turns follow from the weights."""
    members = tuple(zip(group.targets, group.weights, group.up, strict=True))
    return group.name, tuple(sorted(group.prefixes)), members, group.output, group.seed, group.pause_ns


def _text(group: _core.KernelGroup, names: Mapping[int, str]) -> str:
    members = zip(group.targets, group.weights, group.up, strict=True)
    ways = [f"{names.get(port, port)}:{weight}" + ("" if up else " down") for port, weight, up in members]
    return f"group {group.name} {', '.join(group.prefixes)}: {', '.join(ways)}"
