"""One switch in the kernel of a network namespace, as the controller follows it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TypeVar

from anabranch.deploy.control.ending import to_the_end
from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.service.needs import NAMESPACES, Needs
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

State = TypeVar("State")
Result = TypeVar("Result")


def take_namespace(settings: Settings) -> str:
    """Takes the key `namespace` of a switch; empty for the controller's own."""
    meaning = "Network namespace of its ports: a name of `ip netns`, or a file."
    return settings.text("namespace", "", meaning, otherwise="the controller's own")


def needs_of(fabric: FabricFile, target: str) -> Needs:
    """What switches of a target take that are in network namespaces, beside what the target itself does."""
    needs = Needs(frozenset({"CAP_NET_RAW"}), frozenset({"AF_PACKET"})) if fabric.wiring.use else Needs()
    return needs | NAMESPACES if any(one.keys.namespace for one in fabric.switches_of(target)) else needs


class NamespaceSession(Session[State]):
    """The controller's side of one switch in the kernel of a network namespace."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Has not looked yet."""
        super().__init__(switch, surroundings)
        self.describe: Callable[[], bool] = lambda: False
        """Called when what the switch says of its ports is another; answers whether a link changed."""
        self.read_links: Callable[[], None] = lambda: None
        """Called to have what was announced of links by now taken at once."""
        self.forwards_unreached = False
        """Whether a switch that was never reached counts as one that forwards, by what it has."""
        self.is_followed = False
        """Whether another controller follows it."""
        self._lock = asyncio.Lock()
        """Taken by whoever calls the kernel: one at a time may."""

    @property
    def namespace(self) -> str:
        """The namespace of its ports; empty for the controller's own."""
        name: str = self.switch.keys.namespace
        return name

    @abstractmethod
    def enter(self, stack: ExitStack) -> None:
        """Opens what it needs of the namespace that the calling thread is in, until the stack is closed.

        Raises:
            AnabranchError: the kernel does not let it.

        """

    @abstractmethod
    def follow(self, present: Mapping[str, Device], died: frozenset[str]) -> None:
        """Takes its interfaces as they are, before any plan is made with them.

        Args:
            present: those there are, by name.
            died: names of those that could carry nothing at some moment since the last call.

        """

    @abstractmethod
    def number(self, device: Device) -> int:
        """The switch's number of one of its interfaces."""

    @abstractmethod
    async def attend(self) -> None:
        """Follows the plan until it is cancelled.

        Raises:
            AnabranchError: the kernel does not let us look.

        """

    @abstractmethod
    async def measure(self) -> None:
        """Reads the counters of its groups."""

    def is_silent(self, interface: str) -> bool:
        """Whether an interface has a carrier, and yet the other end does not answer."""
        del interface
        return False

    async def serve(self) -> None:
        """Keeps the switch at the plan, and tries again where that cannot be."""
        while True:
            try:
                await self.attend()
            except AnabranchError as error:
                self.failed(error)
            except Exception as error:
                self.mistaken(error)
            await asyncio.sleep(self._backoff.next_s())

    def failed(self, error: AnabranchError) -> bool:
        """Reports an error once; links of a switch that could never be made count as down."""
        new = super().failed(error)
        if new and self.describe():
            self.changed()
        return new

    def waits(self, error: AnabranchError) -> None:
        """Reports once that another controller follows it; it forwards, whatever is not known of it."""
        self.is_followed = True
        super().failed(error)

    async def call(self, call: Callable[..., Result], *given: object) -> Result:
        """Has a thread call the kernel, which may take a while."""
        async with self._lock:
            return await to_the_end(call, *given)
