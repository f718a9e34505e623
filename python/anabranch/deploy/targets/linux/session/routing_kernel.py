"""The kernel of a switch as its session calls it, on this machine or on another."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.own_routes import Look, OwnRoutes
from anabranch.files.errors import AnabranchError


class UnreachableError(AnabranchError):
    """The kernel is out of reach: what was asked last may have been done or not."""


class RoutingKernel(ABC):
    """An owner's routes in one kernel. Every call raises `UnreachableError` when the kernel is out of reach."""

    @abstractmethod
    def follow(self, heard: Callable[[], None]) -> None:
        """Has `heard` called when a change of the routes, or of a gateway, was announced."""

    @abstractmethod
    def unfollow(self) -> None:
        """Ends what `follow` began."""

    @abstractmethod
    async def weight_max(self) -> int:
        """Largest weight that the kernel takes."""

    @abstractmethod
    async def look(self) -> Look:
        """Reads the owner's part; devices that had died by then have been announced when it returns."""

    @abstractmethod
    async def put(self, observed: LinuxState, desired: LinuxState, devices: Mapping[str, Device]) -> int:
        """Brings the kernel from one state to another, whole or not at all; the number of changes.

        Raises:
            AnabranchError: the kernel refuses.

        """

    @abstractmethod
    async def counted(self) -> Mapping[int, Mapping[int, int]]:
        """Packets that each group has sent to each nexthop since it was written, by their numbers."""

    @abstractmethod
    async def ask(self, devices: Mapping[str, Device]) -> None:
        """Has the kernel ask silent gateways again."""


class LocalKernel(RoutingKernel):
    """The kernel of this machine, called by threads."""

    def __init__(self, routes: OwnRoutes, call: Callable[..., Awaitable[Any]]) -> None:
        self._routes, self._call = routes, call

    def follow(self, heard: Callable[[], None]) -> None:
        """Waits for announcements of the kernel."""

        def read() -> None:
            if self._routes.heard():
                heard()

        asyncio.get_running_loop().add_reader(self._routes.fileno(), read)

    def unfollow(self) -> None:
        """Waits no longer."""
        asyncio.get_running_loop().remove_reader(self._routes.fileno())

    async def weight_max(self) -> int:
        """Asks the kernel."""
        return int(await self._call(self._routes.weight_max))

    async def look(self) -> Look:
        """Reads the kernel; what it announced waits in a socket."""
        look: Look = await self._call(self._routes.look)
        return look

    async def put(self, observed: LinuxState, desired: LinuxState, devices: Mapping[str, Device]) -> int:
        """Changes the kernel."""
        return int(await self._call(self._routes.put, observed, desired, devices))

    async def counted(self) -> Mapping[int, Mapping[int, int]]:
        """Reads the kernel."""
        packets: Mapping[int, Mapping[int, int]] = await self._call(self._routes.counted)
        return packets

    async def ask(self, devices: Mapping[str, Device]) -> None:
        """Asks the gateways."""
        await self._call(self._routes.ask, devices)
